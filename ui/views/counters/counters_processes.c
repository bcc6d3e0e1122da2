#include "ui/views/counters/counters_processes.h"

#include <math.h>
#include <stdio.h>

#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/counters/counters_parts.h"
#include "ui/widgets/parts.h"

enum process_cell {
	CELL_PID,
	CELL_COMMAND,
	CELL_CPU,
	CELL_IPC,
	CELL_INSTRUCTIONS,
	CELL_CACHE,
	CELL_BRANCHES,
	CELL_FLOPS,
	CELL_FAULTS,
	CELL_SWITCHES,
	PROCESS_CELLS
};

static const struct table_column process_columns[PROCESS_CELLS] = {
	[CELL_PID] = { "PID", 7, 0, false, false },
	[CELL_COMMAND] = { "COMMAND", 12, 1, true, true },
	[CELL_CPU] = { "CPU", 6, 0, false, false },
	[CELL_IPC] = { "IPC", 5, 0, false, false },
	[CELL_INSTRUCTIONS] = { "INSTR/s", 7, 4, false, false },
	[CELL_CACHE] = { "CACHE MISS", 10, 2, false, false },
	[CELL_BRANCHES] = { "BR MISS", 7, 5, false, false },
	[CELL_FLOPS] = { "FLOP/s", 7, 3, false, false },
	[CELL_FAULTS] = { "MAJFLT/s", 8, 6, false, false },
	[CELL_SWITCHES] = { "SWITCH/s", 8, 7, false, false },
};

/* A process's figure for an event role; NAN. */
static double of_role(const struct perf *perf, const struct perf_process *process, enum perf_role role)
{
	const struct perf_event_now *event = perf_find(perf, role);
	return event ? process->per_s[event - perf->events] : NAN;
}

static double ratio_of(
	const struct perf *perf, const struct perf_process *process, enum perf_role part, enum perf_role whole)
{
	double of = of_role(perf, process, whole);
	return of > 0 ? of_role(perf, process, part) / of : NAN;
}

static const char *command_of(const struct model *model, int32_t pid)
{
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == pid)
			return model->processes[i].command;
	return "–";
}

static const char *cell_text(
	const struct model *model, const struct perf_process *process, enum process_cell cell, char out[NUMBER_SIZE])
{
	const struct perf *perf = &model->perf;
	switch (cell) {
	case CELL_PID: snprintf(out, NUMBER_SIZE, "%d", process->pid); return out;
	case CELL_COMMAND: return command_of(model, process->pid);
	case CELL_CPU: return format_percent(out, of_role(perf, process, PERF_ROLE_TASK_CLOCK) * 1e-9);
	case CELL_IPC: return format_rate(out, ratio_of(perf, process, PERF_ROLE_INSTRUCTIONS, PERF_ROLE_CYCLES));
	case CELL_INSTRUCTIONS: return format_rate(out, of_role(perf, process, PERF_ROLE_INSTRUCTIONS));
	case CELL_CACHE:
		return format_percent(out, ratio_of(perf, process, PERF_ROLE_CACHE_MISSES, PERF_ROLE_CACHE_REFERENCES));
	case CELL_BRANCHES:
		return format_percent(out, ratio_of(perf, process, PERF_ROLE_BRANCH_MISSES, PERF_ROLE_BRANCHES));
	case CELL_FLOPS: return format_rate(out, of_role(perf, process, PERF_ROLE_FLOPS));
	case CELL_FAULTS:
		return format_rate(
			out, of_role(perf, process, PERF_ROLE_MINOR_FAULTS) + of_role(perf, process, PERF_ROLE_MAJOR_FAULTS));
	case CELL_SWITCHES: return format_rate(out, of_role(perf, process, PERF_ROLE_SWITCHES));
	default: return "";
	}
}

void counter_processes(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct perf *perf = &scene->model->perf;
	struct rect header = rect_take_top(&rect, rect.height > 1 ? 1 : 0);
	struct table table;
	char text[NUMBER_SIZE];
	table_fit(&table, process_columns, PROCESS_CELLS, rect);
	if (header.height > 0)
		table_header(&table, canvas, header.y, -1, false);
	for (int i = 0; i < (int)perf->process_count && i < rect.height; i++) {
		struct rect row = rect_row(rect, i);
		int more = (int)perf->process_count - i;

		if (i == rect.height - 1 && more > 1) {
			canvas_printf(canvas, row.x + 1, row.y, row.width - 1, ROLE_DIM, "and %d more", more);
			return;
		}
		for (int cell = 0; cell < PROCESS_CELLS; cell++)
			table_cell(&table, canvas, row.y, cell, ROLE_NORMAL,
				cell_text(scene->model, &perf->processes[i], (enum process_cell)cell, text));
	}
}
