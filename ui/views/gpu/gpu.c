/* GPU: a table of all GPUs, and the selected one in detail: utilization over time, throttling, memory, processes. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/core/layout.h"
#include "ui/views/gpu/gpu_facts.h"
#include "ui/views/gpu/gpu_meaning.h"
#include "ui/views/gpu/gpu_parts.h"
#include "ui/views/gpu/gpu_plots.h"
#include "ui/views/gpu/gpu_processes.h"
#include "ui/views/gpu/gpu_table.h"
#include "ui/views/gpu/gpu_words.h"
#include "ui/views/overview/panel_process.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/over_time.h"
#include "ui/widgets/plots/trace.h"

static int clamp(int value, int min, int max) { return value < min ? min : value > max ? max : value; }

/* -- which one -- */

static int index_of(const struct model *model, const struct gpu *gpu) { return (int)(gpu - model->gpus.gpus); }

/* The user's choice stays until another run is shown; else the first GPU of the run. `chosen` holds its instance +
 * 1. */
static int chosen_gpu(const struct scene *scene)
{
	const struct view_state *state = scene->state;
	const struct gpu *of_run[GPUS_MAX];
	for (size_t i = 0; i < scene->model->gpus.count && state->chosen_for == scene->run; i++)
		if (state->chosen == (uint64_t)scene->model->gpus.gpus[i].instance + 1)
			return (int)i;
	return gpus_to_show(scene->model, scene_run(scene), of_run) > 0 ? index_of(scene->model, of_run[0]) : 0;
}

static void choose(struct scene *scene, int index)
{
	struct view_state *state = scene->state;
	if (index < 0 || index >= (int)scene->model->gpus.count)
		return;
	if (index != chosen_gpu(scene))
		memset(state->scales, 0, sizeof state->scales);
	state->chosen = (uint64_t)scene->model->gpus.gpus[index].instance + 1;
	state->chosen_for = scene->run;
	state->row = index;
}

/* -- drawing -- */

static void table_title(const struct model *model, struct line *line)
{
	unsigned whole = 0, parts = 0, ours = 0, lost = 0;
	for (size_t i = 0; i < model->gpus.count; i++) {
		whole += model->gpus.gpus[i].parent < 0;
		parts += model->gpus.gpus[i].parent >= 0;
		ours += model->gpus.gpus[i].is_ours;
		lost += model->gpus.gpus[i].lost[0] != '\0';
	}
	line_start(line, " · ");
	line_add(line, 0, ROLE_NORMAL, "%u", whole);
	if (parts > 0)
		line_add(line, 1, ROLE_NORMAL, "in %u parts", parts);
	if (ours > 0)
		line_add(line, 1, ROLE_NORMAL, "%u used by the run", ours);
	if (lost > 0)
		line_add(line, 0, ROLE_CRITICAL, "⚠ %u lost", lost);
	line_add(line, 2, ROLE_KEY, "↑↓ choose");
}

static void gpu_title(const struct scene *scene, const struct gpu *gpu, char *title, size_t size, struct line *line)
{
	char number[NUMBER_SIZE], name[80], ranks[NUMBER_SIZE];
	snprintf(title, size, "GPU %s · %s", gpu_number(number, scene->model, gpu), gpu_name(name, sizeof name, gpu));
	line_start(line, " · ");
	gpu_ranks(ranks, scene->model, gpu);
	if (gpu->lost[0] != '\0')
		line_add(line, 0, ROLE_CRITICAL, "⚠ lost");
	if (ranks[0] != '\0')
		line_add(line, 0, ROLE_STRONG, "used by %s", ranks);
	if (gpu->driver[0] != '\0')
		line_add(line, 1, ROLE_DIM, "%s", gpu->driver);
	if (gpu->pci[0] != '\0')
		line_add(line, 2, ROLE_DIM, "%s", gpu->pci);
}

enum { SIDE_BY_SIDE = 100 };

/* Without a column of plots the utilization plot is above the facts. */
static void draw_facts(
	struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect, bool has_title)
{
	char title[160];
	struct line line;
	gpu_title(scene, gpu, title, sizeof title, &line);
	struct rect inside = has_title ? parts_panel(canvas, rect, title, &line, ROLE_TITLE) : rect;

	if (inside.height >= 12 && canvas->width < SIDE_BY_SIDE)
		gpu_plot_busy(scene, gpu, canvas,
			rect_take_top(&inside, clamp(inside.height - gpu_facts_rows(scene, gpu), 6, inside.height / 2)),
			scene->state->zoom);
	rect_take_left(&inside, 1);
	gpu_facts(scene, gpu, canvas, inside);
}

/* Plots over time on the left, current facts and processes on the right. */
static void draw_wide(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect)
{
	bool has_grid = rect.width >= 160 && rect.height >= 16;
	struct rect facts = rect_take_right(&rect, has_grid ? rect.width * 2 / 5 : rect.width / 2);
	int frame = parts_panel_rows(canvas), wanted = frame + gpu_facts_rows(scene, gpu) + 3;
	int min = frame + 1 + clamp((int)gpu->process_count, 1, 3), room = facts.height - wanted;
	if (!parts_is_roomy(canvas))
		rect_take_right(&rect, 1);
	struct rect processes = rect_take_bottom(&facts, facts.height >= 14 ? (room > min ? room : min) : 0);

	gpu_plots(scene, gpu, canvas, rect, has_grid ? 2 : 1);
	draw_facts(scene, gpu, canvas, facts, true);
	if (processes.height > 0)
		gpu_processes(scene, gpu, canvas, processes);
}

static void draw_narrow(
	struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect, bool has_title)
{
	int processes = clamp((int)gpu->process_count, 1, clamp(rect.height / 5, 1, 12));
	struct rect below = rect_take_bottom(&rect, rect.height >= 10 ? parts_panel_rows(canvas) + 1 + processes : 0);
	draw_facts(scene, gpu, canvas, rect, has_title);
	if (below.height > 0)
		gpu_processes(scene, gpu, canvas, below);
}

static void draw_absent(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct run *run = scene_run(scene);
	struct rect allocator = rect_take_bottom(&rect, has_allocator(run) && rect.height >= 10 ? rect.height * 2 / 5 : 0);
	char text[2048];
	gpu_absent_text(scene->model, text, sizeof text);
	parts_note(canvas, rect, "GPU", text);
	if (allocator.height > 0)
		panel_allocator(scene, run, canvas, allocator, scene->state->zoom);
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct gpus *gpus = &scene->model->gpus;
	int frame = parts_panel_rows(canvas), chosen = chosen_gpu(scene), count = (int)gpus->count;
	struct line line;
	scene->state->list = (struct rect){ 0, 0, 0, 0 };
	if (count == 0) {
		draw_absent(scene, canvas, rect);
		return;
	}
	const struct gpu *gpu = &gpus->gpus[chosen];
	bool is_tight = rect.height < 12;
	int max = is_tight           ? rect.height - 2
		: parts_is_roomy(canvas) ? rect.height * 9 / 20
								 : (rect.height + 1) / 2,
		wanted = frame + 1 + count;
	struct rect table = rect_take_top(&rect, count < 2 ? 0 : wanted < max ? wanted : max);

	if (table.height > 0) {
		table_title(scene->model, &line);
		gpu_table(scene, canvas, parts_panel(canvas, table, "GPUs", &line, ROLE_TITLE), chosen);
	}
	if (rect.width >= SIDE_BY_SIDE && rect.height >= 10)
		draw_wide(scene, gpu, canvas, rect);
	else if (rect.height > 0)
		draw_narrow(scene, gpu, canvas, rect, !is_tight || count < 2);
}

/* -- keys -- */

static bool key(struct scene *scene, struct key_event event, struct rect rect)
{
	struct view_state *state = scene->state;
	int count = (int)scene->model->gpus.count;
	(void)rect;
	if (trace_zoom_key(scene, event))
		return true;
	switch (event.key) {
	case KEY_ARROW_LEFT: event.key = KEY_ARROW_UP; break;
	case KEY_ARROW_RIGHT: event.key = KEY_ARROW_DOWN; break;
	default: break;
	}
	if (count == 0)
		return false;
	state->row = chosen_gpu(scene);
	if (!parts_list_key(state, event, count, state->list))
		return false;
	choose(scene, state->row);
	return true;
}

enum { WRITTEN_ROWS = 256 };

static void write_gpu(const struct scene *scene, const struct gpu *gpu, struct buffer *out)
{
#define SERIES_POINTER(name) gpu->series.name,
	const struct series *const series[] = { GPU_SERIES(SERIES_POINTER) };
#undef SERIES_POINTER
	struct buffer cells = BUFFER_INIT;
	char number[NUMBER_SIZE], name[80];
	parts_csv_text(&cells, false, gpu_number(number, scene->model, gpu));
	parts_csv_text(&cells, false, gpu_name(name, sizeof name, gpu));
	over_time_write(scene, series, sizeof series / sizeof series[0], WRITTEN_ROWS, cells.data ? cells.data : "", out);
	buffer_release(&cells);
}

static void write(const struct scene *scene, struct buffer *out)
{
#define SERIES_TITLE(name) "," #name
	static const char titles[] = "time_ns,time,gpu,name" GPU_SERIES(SERIES_TITLE) "\n";
#undef SERIES_TITLE

	if (scene->model->gpus.count == 0)
		return;
	buffer_puts(out, titles);
	for (size_t i = 0; i < scene->model->gpus.count; i++)
		write_gpu(scene, &scene->model->gpus.gpus[i], out);
}

const struct view gpu_view = {
	.name = "GPU",
	.short_name = "GPU",
	.digit = '5',
	.keys = "q quit  Tab view  ↑↓ GPU  [] next run  +/- zoom  Space pause  w save CSV  ? help",
	.keys_short = "q quit  Tab view  ↑↓ GPU  [] next run  +/- zoom  w save CSV  ? help",
	.draw = draw,
	.key = key,
	.write = write,
};
