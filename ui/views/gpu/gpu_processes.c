#include "ui/views/gpu/gpu_processes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/gpu/gpu_meaning.h"
#include "ui/views/gpu/gpu_parts.h"
#include "ui/views/gpu/gpu_words.h"
#include "ui/widgets/parts.h"

enum process_cell { CELL_PID, CELL_COMMAND, CELL_RANK, CELL_MEMORY, CELL_SHARE, CELL_BUSY, CELL_KIND, PROCESS_CELLS };

static const struct table_column process_columns[PROCESS_CELLS] = {
	[CELL_PID] = { "PID", 7, 0, false, false },
	[CELL_COMMAND] = { "COMMAND", 12, 0, true, true },
	[CELL_RANK] = { "PART OF", 7, 1, true, false },
	[CELL_MEMORY] = { "MEMORY", 8, 0, false, false },
	[CELL_SHARE] = { "SHARE", 6, 2, false, false },
	[CELL_BUSY] = { "BUSY", 6, 1, false, false },
	[CELL_KIND] = { "KIND", 8, 3, true, false },
};

static const char *rank_of(const struct model *model, int32_t pid, char out[NUMBER_SIZE])
{
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct run *run = &model->runs[i];

		if (run->is_used && run->pid == pid && run->rank[0] != '\0') {
			snprintf(out, NUMBER_SIZE, "rank %.20s", run->rank);
			return out;
		}
	}
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == pid && model->processes[i].local_rank >= 0) {
			snprintf(out, NUMBER_SIZE, "rank %d", model->processes[i].local_rank);
			return out;
		}
	return "run";
}

static const char *command_of(const struct model *model, const struct gpu_process *process)
{
	for (size_t i = 0; i < model->process_count && process->command[0] == '\0'; i++)
		if (model->processes[i].pid == process->pid)
			return model->processes[i].command;
	return process->command[0] != '\0' ? process->command : "–";
}

static const char *cell_text(const struct model *model, const struct gpu *gpu, const struct gpu_process *process,
	enum process_cell cell, char out[NUMBER_SIZE])
{
	switch (cell) {
	case CELL_PID: snprintf(out, NUMBER_SIZE, "%d", process->pid); return out;
	case CELL_COMMAND: return command_of(model, process);
	case CELL_RANK: return process->is_ours ? rank_of(model, process->pid, out) : "other";
	case CELL_MEMORY: return format_bytes(out, process->memory_bytes);
	case CELL_SHARE: return format_percent(out, process->memory_bytes / gpu_now(gpu, METRIC_GPU_MEMORY));
	case CELL_BUSY: return format_percent(out, process->busy_ratio);
	case CELL_KIND:
		return process->kind == (GPU_PROCESS_COMPUTE | GPU_PROCESS_GRAPHICS) ? "both"
			: process->kind & GPU_PROCESS_GRAPHICS                           ? "graphics"
			: process->kind & GPU_PROCESS_COMPUTE                            ? "compute"
																			 : "–";
	default: return "";
	}
}

static void draw_none(const struct model *model, const struct gpu *gpu, struct canvas *canvas, struct rect rect)
{
	const struct missing *missing = gpu_missing(model, "GPU processes");
	char text[sizeof missing->text + sizeof missing->remedy + 32];
	if (missing)
		snprintf(text, sizeof text, missing->remedy[0] != '\0' ? "– unknown: %s → %s" : "– unknown: %s", missing->text,
			missing->remedy);
	else
		snprintf(text, sizeof text,
			gpu->processes_ns == 0 ? "the driver has not listed its processes yet" : "no process uses it");
	parts_wrap(canvas, rect, ROLE_DIM, text);
}

static void title_of(const struct gpu *gpu, struct line *line)
{
	size_t ours = 0;
	for (size_t i = 0; i < gpu->process_count; i++)
		ours += gpu->processes[i].is_ours ? 1 : 0;
	line_start(line, " · ");
	if (gpu->process_count > 0)
		line_add(line, 0, ROLE_NORMAL, "%zu", gpu->process_count);
	if (ours > 0)
		line_add(line, 1, ROLE_NORMAL, "%zu of the run", ours);
	else if (gpu->is_ours_by_place)
		line_add(line, 1, ROLE_NORMAL, "the run's, from its environment");
}

void gpu_processes(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect)
{
	char number[NUMBER_SIZE], title[NUMBER_SIZE + 24], text[NUMBER_SIZE];
	struct line line;
	struct table table;
	title_of(gpu, &line);
	snprintf(title, sizeof title, "Processes on GPU %s", gpu_number(number, scene->model, gpu));
	struct rect inside = parts_panel(canvas, rect, title, &line, ROLE_TITLE);

	if (gpu->process_count == 0) {
		rect_take_left(&inside, 1);
		draw_none(scene->model, gpu, canvas, inside);
		return;
	}
	struct rect header = rect_take_top(&inside, inside.height > 1 ? 1 : 0);

	table_fit(&table, process_columns, PROCESS_CELLS, inside);
	if (header.height > 0)
		table_header(&table, canvas, header.y, -1, false);
	for (int i = 0; i < (int)gpu->process_count && i < inside.height; i++) {
		const struct gpu_process *process = &gpu->processes[i];
		struct rect row = rect_row(inside, i);

		if (i == inside.height - 1 && (int)gpu->process_count - i > 1) {
			canvas_printf(
				canvas, row.x + 1, row.y, row.width - 1, ROLE_DIM, "and %d more", (int)gpu->process_count - i);
			return;
		}
		for (int cell = 0; cell < PROCESS_CELLS; cell++)
			table_cell(&table, canvas, row.y, cell, process->is_ours ? ROLE_NORMAL : ROLE_DIM,
				cell_text(scene->model, gpu, process, (enum process_cell)cell, text));
	}
}
