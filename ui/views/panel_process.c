#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "ui/layout.h"
#include "ui/views/panel_workers.h"
#include "ui/views/panels.h"
#include "ui/views/parts.h"
#include "ui/views/trace.h"

/* -- memory -------------------------------------------------------------------------------------------------------------------- */

static void add_slope(const struct memory *memory, struct line *line, enum role role)
{
	bool is_per_batch = !isnan(memory->slope_per_batch);
	double slope = is_per_batch ? memory->slope_per_batch : memory->slope.per_s;
	char text[NUMBER_SIZE], high[NUMBER_SIZE];

	line_add(line, 1, role, "%s%s a %s", slope >= 0 ? "+" : "", format_bytes(text, slope), is_per_batch ? "batch" : "second");
	line_add(line, 4, ROLE_DIM, "(%s … %s)", format_bytes(text, is_per_batch ? memory->slope_per_batch_low : memory->slope.low_per_s),
	         format_bytes(high, is_per_batch ? memory->slope_per_batch_high : memory->slope.high_per_s));
}

void memory_verdict_line(const struct memory *memory, struct line *line)
{
	bool is_growing = memory_is_growing(memory), is_unknown = memory->verdict == NULL || strcmp(memory->verdict, "unknown") == 0;
	enum role role = is_growing ? ROLE_WARNING : ROLE_NORMAL;
	char text[NUMBER_SIZE];

	line_start(line, " ");
	if (memory->slope.points == 0) {
		line_add(line, 0, ROLE_DIM, "too early to judge");
		return;
	}
	line_add(line, 0, role, "%s%s%s", is_growing ? "⚠ " : "", is_unknown ? "verdict open" : memory->verdict, is_growing && memory->grower[0] ? ":" : "");
	if (is_growing && memory->grower[0])
		line_add(line, 3, role, "%s", memory->grower);
	add_slope(memory, line, role);
	if (!isnan(memory->limit_in_s))
		line_add(line, 2, role, "· full in %s", parts_waiting(text, memory->limit_in_s));
	if (!isnan(memory->growth_bytes))
		line_add(line, 5, ROLE_DIM, "· %s%s since the warm-up", memory->growth_bytes >= 0 ? "+" : "", format_bytes(text, memory->growth_bytes));
}

static void memory_title(const struct memory *memory, struct line *line)
{
	bool is_growing = memory_is_growing(memory);
	char text[NUMBER_SIZE];

	line_start(line, " · ");
	line_add(line, 0, ROLE_STRONG, "tree %s", format_bytes(text, memory->tree_rss_bytes));
	if (memory->slope.points > 0)
		line_add(line, 1, is_growing ? ROLE_WARNING : ROLE_NORMAL, "%s%s/s%s", memory->slope.per_s >= 0 ? "+" : "",
		         format_bytes(text, memory->slope.per_s), is_growing ? " ⚠" : "");
	line_add(line, 2, ROLE_NORMAL, "peak %s", format_bytes(text, memory->tree_peak_bytes));
}

static void memory_parts_line(const struct model *model, struct canvas *canvas, struct rect row)
{
	const struct memory *memory = &model->memory;
	struct crew_now workers;
	char text[NUMBER_SIZE];
	struct line line;

	model_crew_now(model, -1, &workers);
	line_start(&line, "  ");
	line_add(&line, 0, ROLE_MEMORY, "target %s", format_bytes(text, memory->rss_bytes));
	if (workers.count > 0)
		line_add(&line, 1, ROLE_NORMAL, "%u workers %s", workers.count, format_bytes(text, workers.resident_bytes));
	if (memory->shared_bytes > 0)
		line_add(&line, 4, ROLE_NORMAL, "shared %s", format_bytes(text, memory->shared_bytes));
	if (memory->swap_bytes > 0)
		line_add(&line, 2, ROLE_WARNING, "swap %s", format_bytes(text, memory->swap_bytes));
	if (memory->limit != NULL)
		line_add(&line, 3, ROLE_NORMAL, "%s limit %s", memory->limit, format_bytes(text, memory->limit_bytes));
	if (memory->spikes > 0)
		line_add(&line, 2, ROLE_WARNING, "%u spike%s, last +%s", memory->spikes, memory->spikes > 1 ? "s" : "", format_bytes(text, memory->spike_bytes));
	line_draw(&line, canvas, row.x, row.y, row.width);
}

/* One or two figures over time on one scale; `second` may be NULL. */
struct over_time {
	const struct series *first, *second;
	enum role first_role, second_role;
	enum plot_unit unit;
	int zoom;
};

static void draw_series(struct scene *scene, struct canvas *canvas, struct rect plot, const struct scale *scale, int64_t from_ns,
                        const struct series *series, enum role role)
{
	struct plot_point points[TRACE_POINTS_MAX];
	size_t columns = plot_resolution(canvas, plot);

	columns = columns > TRACE_POINTS_MAX ? TRACE_POINTS_MAX : columns;
	trace_series(scene, series, from_ns, role, points, columns);
	plot_points(canvas, plot, scale, points, columns, true);
}

static void draw_over_time(struct scene *scene, struct canvas *canvas, struct rect inside, struct scale *scale, const struct over_time *what)
{
	int64_t from_ns = trace_since(scene, what->zoom);
	double least = NAN, most = NAN;

	trace_extremes(scene, what->first, from_ns, &least, &most);
	if (what->second != NULL)
		trace_extremes(scene, what->second, from_ns, &least, &most);
	if (isnan(most)) {
		canvas_text(canvas, inside.x + 1, inside.y, inside.width - 1, ROLE_DIM, "no figures yet");
		return;
	}
	/* what hardly moves is drawn as what hardly moves */
	if (most - least < most / 20)
		least = most - most / 20;
	scale_update(scale, least, most, what->unit != PLOT_BYTES);
	struct rect plot = plot_axis(canvas, inside, scale, what->unit);

	if (what->second != NULL)
		draw_series(scene, canvas, plot, scale, from_ns, what->second, what->second_role);
	draw_series(scene, canvas, plot, scale, from_ns, what->first, what->first_role);
}

static void draw_tree(struct scene *scene, struct canvas *canvas, struct rect inside, int zoom)
{
	const struct model *model = scene->model;
	struct crew_now workers;
	model_crew_now(model, -1, &workers);
	struct over_time what = { model->series.tree_resident, workers.count > 0 ? model->series.resident : NULL, ROLE_MEMORY, ROLE_DIM, PLOT_BYTES, zoom };

	draw_over_time(scene, canvas, inside, &scene->state->scales[SCALE_MEMORY], &what);
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

		memory_verdict_line(&model->memory, &line);
		line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
	}
	draw_tree(scene, canvas, inside, zoom);
}

/* -- the GPU's allocator ------------------------------------------------------------------------------------------------------- */

bool has_allocator(const struct run *run)
{
	return run != NULL && (!isnan(run_allocator(run).allocated_bytes) || !isnan(run_allocator(run).reserved_bytes));
}

void panel_allocator(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect, int zoom)
{
	struct allocator allocator = run_allocator(run);
	struct over_time what = { .first_role = ROLE_MEMORY, .second_role = ROLE_DIM, .unit = PLOT_BYTES, .zoom = zoom };
	char text[NUMBER_SIZE];
	struct line line;
	double value;

	line_start(&line, " · ");
	line_add(&line, 0, ROLE_STRONG, "allocated %s", format_bytes(text, allocator.allocated_bytes));
	line_add(&line, 1, ROLE_NORMAL, "reserved %s", format_bytes(text, allocator.reserved_bytes));
	line_add(&line, 2, ROLE_NORMAL, "peak %s", format_bytes(text, allocator.peak_bytes));
	/* with room for a plot the figures stand below it: a title is too short for them */
	bool is_line = rect.height < parts_panel_rows(canvas) + 4;
	struct rect inside = parts_panel(canvas, rect, "GPU allocator", is_line ? &line : NULL, ROLE_TITLE), row = rect_take_bottom(&inside, is_line ? 0 : 1);

	if (!is_line)
		line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
	run_gauge(run, "cuda.allocated_bytes", &value, &what.first);
	run_gauge(run, "cuda.reserved_bytes", &value, &what.second);
	if (what.first == NULL) {
		what.first = what.second;
		what.second = NULL;
	}
	if (inside.height >= 3 && what.first != NULL)
		draw_over_time(scene, canvas, inside, &scene->state->scales[SCALE_ALLOCATOR], &what);
}

/* -- CPU and what the process waits for ---------------------------------------------------------------------------------------- */

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
	if (target == NULL)
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
	struct over_time what = { scene->model->series.cpu_ratio, NULL, ROLE_PLOT, ROLE_DIM, PLOT_PERCENT, zoom };
	const struct process *target = model_target(scene->model);
	char text[NUMBER_SIZE];
	struct line line;

	line_start(&line, " · ");
	if (target != NULL) {
		line_add(&line, 0, ROLE_NORMAL, "%s of a core", format_percent(text, target->cpu_ratio));
		line_add(&line, 1, ROLE_NORMAL, "waits for CPU %s", format_percent(text, target->run_queue_wait_ratio));
		line_add(&line, 2, ROLE_NORMAL, "%s threads", format_count(text, target->now[METRIC_PROCESS_THREADS]));
	}
	draw_over_time(scene, canvas, parts_panel(canvas, rect, "CPU", &line, ROLE_TITLE), &scene->state->scales[SCALE_CPU], &what);
}
