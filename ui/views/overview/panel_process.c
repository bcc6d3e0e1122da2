#include "ui/views/overview/panel_process.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/machine/processes.h"
#include "src/model/memory/memory_verdict.h"
#include "src/model/memory/memory_words.h"
#include "src/model/workers/workers_shown.h"
#include "ui/core/layout.h"
#include "ui/views/overview/panel_workers.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/over_time.h"
#include "ui/widgets/plots/trace.h"

/* -- memory -- */

/* Below this width "about" becomes "~". */
enum { ABOUT_WIDTH = 44 };

static void add_slope(const struct memory *memory, struct line *line, enum role role)
{
	bool is_per_batch = !isnan(memory->slope_per_batch);
	double slope = is_per_batch ? memory->slope_per_batch : memory->slope.per_s;
	char text[NUMBER_SIZE], high[NUMBER_SIZE];
	line_add(line, 1, role, "%s%s/%s", slope >= 0 ? "+" : "", format_bytes(text, slope), is_per_batch ? "batch" : "s");
	line_add(line, 4, ROLE_DIM, "(%s … %s)",
		format_bytes(text, is_per_batch ? memory->slope_per_batch_low : memory->slope.low_per_s),
		format_bytes(high, is_per_batch ? memory->slope_per_batch_high : memory->slope.high_per_s));
}

static void add_unclear(const struct scene *scene, struct line *line, int width)
{
	const struct memory *memory = &scene->model->memory;
	const struct run *run = scene_run(scene);
	double step_s = run ? run_main(run)->step.p50_s : NAN, left_s = memory_trend_left_s(memory, scene->now_ns);
	const char *about = width < ABOUT_WIDTH ? "~" : "about ";
	if (!(left_s > 0))
		line_add(line, 0, ROLE_DIM, "trend unclear: memory varies too much");
	else if (step_s > 0)
		line_add(line, 0, ROLE_DIM, "trend unclear: needs %s%.0f more batches", about, ceil(left_s / step_s));
	else
		line_add(line, 0, ROLE_DIM, "trend unclear: needs %s%.0f s more", about, ceil(left_s));
}

void memory_trend_line(const struct scene *scene, struct line *line, int width)
{
	const struct memory *memory = &scene->model->memory;
	bool is_growing = memory_is_growing(memory), is_unknown = !memory_verdict_is_known(memory->verdict);
	enum role role = is_growing ? ROLE_WARNING : ROLE_NORMAL;
	char text[NUMBER_SIZE];
	line_start(line, " ");
	if (memory->slope.points == 0) {
		line_add(line, 0, ROLE_DIM, "trend unclear: too few samples");
		return;
	}
	if (is_unknown)
		add_unclear(scene, line, width);
	else
		line_add(line, 0, role, "%s%s%s", is_growing ? "⚠ " : "", memory_verdict_word(memory->verdict),
			is_growing && memory->grower[0] ? ":" : "");
	if (is_growing && memory->grower[0])
		line_add(line, 3, role, "%s", memory->grower);
	if (!is_unknown)
		add_slope(memory, line, role);
	if (!isnan(memory->limit_in_s))
		line_add(line, 2, role, "· full in %s", parts_waiting(text, memory->limit_in_s));
	if (!isnan(memory->growth_bytes))
		line_add(line, 5, ROLE_DIM, "· total %s%s since warm-up", memory->growth_bytes >= 0 ? "+" : "",
			format_bytes(text, memory->growth_bytes));
}

static void memory_title(const struct memory *memory, struct line *line)
{
	bool is_growing = memory_is_growing(memory);
	char text[NUMBER_SIZE];
	line_start(line, " · ");
	line_add(line, 0, ROLE_STRONG, "total %s", format_bytes(text, memory->tree_rss_bytes));
	if (memory->slope.points > 0)
		line_add(line, 1, is_growing ? ROLE_WARNING : ROLE_NORMAL, "%s%s/s%s", memory->slope.per_s >= 0 ? "+" : "",
			format_bytes(text, memory->slope.per_s), is_growing ? " ⚠" : "");
	line_add(line, 2, ROLE_NORMAL, "peak %s", format_bytes(text, memory->tree_peak_bytes));
}

static void memory_parts_line(const struct model *model, struct canvas *canvas, struct rect row)
{
	const struct memory *memory = &model->memory;
	struct worker_group_now workers;
	char text[NUMBER_SIZE];
	struct line line;
	model_worker_group_now(model, -1, &workers);
	line_start(&line, "  ");
	/* In the colour of its line in the plot. */
	line_add(
		&line, 0, workers.count > 0 ? ROLE_DIM : ROLE_MEMORY, "main process %s", format_bytes(text, memory->rss_bytes));
	if (workers.count > 0)
		line_add(&line, 1, ROLE_NORMAL, "%u worker%s %s", workers.count, workers.count == 1 ? "" : "s",
			format_bytes(text, workers.resident_bytes));
	if (memory->shared_bytes > 0)
		line_add(&line, 4, ROLE_NORMAL, "shared %s", format_bytes(text, memory->shared_bytes));
	if (memory->swap_bytes > 0)
		line_add(&line, 2, ROLE_WARNING, "swap %s", format_bytes(text, memory->swap_bytes));
	if (memory->limit)
		line_add(&line, 3, ROLE_NORMAL, "%s limit %s", memory->limit, format_bytes(text, memory->limit_bytes));
	if (memory->spikes > 0)
		line_add(&line, 2, ROLE_WARNING, "%u spike%s, last +%s", memory->spikes, memory->spikes > 1 ? "s" : "",
			format_bytes(text, memory->spike_bytes));
	line_draw(&line, canvas, row.x, row.y, row.width);
}

static void draw_tree(struct scene *scene, struct canvas *canvas, struct rect inside, int zoom)
{
	const struct model *model = scene->model;
	struct worker_group_now workers;
	model_worker_group_now(model, -1, &workers);
	struct over_time what = {
		.from_ns = trace_since(scene, zoom),
		.unit = PLOT_BYTES,
		.level = NAN,
		.count = workers.count > 0 ? 2 : 1,
		.lines = { { model->series.tree_resident, ROLE_MEMORY }, { model->series.resident, ROLE_DIM } },
	};

	struct rect plot = over_time_draw(scene, canvas, inside, &scene->state->scales[SCALE_MEMORY], &what);

	if (what.count > 1)
		over_time_legend(canvas, plot, "total", ROLE_MEMORY, "main", ROLE_DIM);
}

void panel_memory_plot(struct scene *scene, struct canvas *canvas, struct rect rect, int zoom)
{
	struct line line;
	memory_title(&scene->model->memory, &line);
	draw_tree(scene, canvas, parts_panel(canvas, rect, "Memory", &line, ROLE_TITLE), zoom);
}

void panel_memory(struct scene *scene, struct canvas *canvas, struct rect rect, int zoom)
{
	const struct model *model = scene->model;
	struct line line;
	memory_title(&model->memory, &line);
	struct rect inside = parts_panel(canvas, rect, "Memory", &line, ROLE_TITLE);

	if (inside.height >= 5) {
		struct rect row = rect_take_bottom(&inside, 1);

		rect_take_left(&row, 1);
		memory_parts_line(model, canvas, row);
	}
	if (inside.height >= 3) {
		struct rect row = rect_take_bottom(&inside, 1);

		memory_trend_line(scene, &line, row.width - 1);
		line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
	}
	draw_tree(scene, canvas, inside, zoom);
}

/* -- the GPU's allocator -- */

bool has_allocator(const struct run *run)
{
	return run && (!isnan(run_allocator(run).allocated_bytes) || !isnan(run_allocator(run).reserved_bytes));
}

void panel_allocator(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect, int zoom)
{
	struct allocator allocator = run_allocator(run);
	struct over_time what = {
		.from_ns = trace_since(scene, zoom),
		.unit = PLOT_BYTES,
		.level = NAN,
		.count = 2,
		.lines = { { NULL, ROLE_MEMORY }, { NULL, ROLE_DIM } },
	};
	char text[NUMBER_SIZE];
	struct line line;
	double value;
	line_start(&line, " · ");
	line_add(&line, 0, ROLE_STRONG, "allocated %s", format_bytes(text, allocator.allocated_bytes));
	line_add(&line, 1, ROLE_NORMAL, "reserved %s", format_bytes(text, allocator.reserved_bytes));
	line_add(&line, 2, ROLE_NORMAL, "peak %s", format_bytes(text, allocator.peak_bytes));
	/* a title has no room for them */
	bool is_line = rect.height <= parts_panel_rows(canvas);
	struct rect inside = parts_panel(canvas, rect, "GPU allocator", is_line ? &line : NULL, ROLE_TITLE),
				row = rect_take_bottom(&inside, is_line ? 0 : 1);

	if (!is_line)
		line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
	run_gauge(run, "cuda.allocated_bytes", &value, &what.lines[0].series);
	run_gauge(run, "cuda.reserved_bytes", &value, &what.lines[1].series);
	if (what.lines[0].series == NULL) {
		what.lines[0].series = what.lines[1].series;
		what.count = 1;
	}
	if (inside.height < 3 || !what.lines[0].series)
		return;
	struct rect plot = over_time_draw(scene, canvas, inside, &scene->state->scales[SCALE_ALLOCATOR], &what);

	if (what.lines[1].series && what.count > 1)
		over_time_legend(canvas, plot, "reserved", ROLE_DIM, "allocated", ROLE_MEMORY);
}

/* -- CPU and what the process waits for -- */

static void add_rate(struct line *line, int rank, const char *name, double bytes_per_s)
{
	char text[NUMBER_SIZE];
	if (!isnan(bytes_per_s))
		line_add(line, rank, ROLE_NORMAL, "%s %s/s", name, format_bytes(text, bytes_per_s));
}

static void process_line(const struct scene *scene, struct line *line)
{
	const struct model *model = scene->model;
	const struct process *target = model_target(model);
	char text[NUMBER_SIZE];
	line_start(line, " · ");
	if (!target)
		return;
	line_add(line, 0, ROLE_NORMAL, "CPU %s", format_percent(text, target->cpu_ratio));
	workers_add(line, model, scene->run);
	if (!isnan(target->run_queue_wait_ratio))
		line_add(line, 2, target->run_queue_wait_ratio > 0.1 ? ROLE_WARNING : ROLE_NORMAL, "waits for CPU %s",
			format_percent(text, target->run_queue_wait_ratio));
	add_rate(line, 3, "reads", target->read_bytes_per_s);
	add_rate(line, 4, "writes", target->write_bytes_per_s);
	if (target->major_faults_per_s > 0)
		line_add(line, 3, ROLE_WARNING, "%s major faults/s", format_rate(text, target->major_faults_per_s));
}

void panel_process_line(const struct scene *scene, struct canvas *canvas, struct rect row)
{
	struct line line;
	process_line(scene, &line);
	line_draw(&line, canvas, row.x, row.y, row.width);
}

void panel_cpu(struct scene *scene, struct canvas *canvas, struct rect rect, int zoom)
{
	struct over_time what = {
		.from_ns = trace_since(scene, zoom),
		.unit = PLOT_PERCENT,
		.from_zero = true,
		.level = NAN,
		.count = 1,
		.lines = { { scene->model->series.cpu_ratio, ROLE_PLOT } },
	};
	const struct process *target = model_target(scene->model);
	char text[NUMBER_SIZE];
	struct line line;
	line_start(&line, " · ");
	if (target) {
		line_add(&line, 0, ROLE_NORMAL, "%s of one CPU", format_percent(text, target->cpu_ratio));
		line_add(&line, 1, ROLE_NORMAL, "waits for CPU %s", format_percent(text, target->run_queue_wait_ratio));
		line_add(&line, 2, ROLE_NORMAL, "%s threads", format_count(text, target->now[METRIC_PROCESS_THREADS]));
	}
	over_time_draw(
		scene, canvas, parts_panel(canvas, rect, "CPU", &line, ROLE_TITLE), &scene->state->scales[SCALE_CPU], &what);
}
