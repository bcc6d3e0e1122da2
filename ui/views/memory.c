/* Memory: all processes over time, the kinds of memory, the trend and what to do about it, a table of processes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/machine/processes.h"
#include "src/model/memory/memory_words.h"
#include "ui/core/layout.h"
#include "ui/core/plot_axis.h"
#include "ui/views/memory_snapshot.h"
#include "ui/views/overview/panel_lists.h"
#include "ui/views/overview/panel_process.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/over_time.h"
#include "ui/widgets/plots/trace.h"

/* -- what memory is made of -- */

struct kind {
	const char *name, *note;
	double bytes;
	const struct series *series;
	enum role role;
};
enum { KINDS_MAX = 4 };

static bool has_children(const struct model *model)
{
	for (size_t i = 0; i < model->process_count; i++)
		if (!model->processes[i].is_target && !model->processes[i].is_gone)
			return true;
	return false;
}

/* Of the whole tree if the target has children; else of the target. */
static int kinds_of(const struct model *model, struct kind out[KINDS_MAX])
{
	const struct memory *memory = &model->memory;
	if (has_children(model) && !isnan(memory->tree_anonymous_bytes)) {
		out[0] = (struct kind){ "anonymous", "heap, tensors, swap", memory->tree_anonymous_bytes,
			model->series.tree_anonymous, ROLE_PHASE_2 };
		out[1] =
			(struct kind){ "file", "mapped files", memory->tree_file_bytes, model->series.tree_file, ROLE_PHASE_1 };
		out[2] = (struct kind){ "shared", "/dev/shm, queues", memory->tree_shared_bytes, model->series.tree_shared,
			ROLE_PHASE_0 };
		return 3;
	}
	out[0] = (struct kind){ "anonymous", "heap, stacks, tensors", memory->anonymous_bytes, model->series.anonymous,
		ROLE_PHASE_2 };
	out[1] = (struct kind){ "file", "mapped files", memory->file_bytes, model->series.file, ROLE_PHASE_1 };
	out[2] = (struct kind){ "shared", "/dev/shm, queues", memory->shared_bytes, model->series.shared, ROLE_PHASE_0 };
	out[3] = (struct kind){ "swap", "swapped out", memory->swap_bytes, model->series.swap, ROLE_PHASE_3 };
	return 4;
}

static void draw_kind(struct canvas *canvas, struct rect row, const struct kind *kind, double whole_bytes)
{
	char text[NUMBER_SIZE];
	canvas_put(canvas, row.x, row.y, plot_sign(canvas, kind->role), kind->role);
	canvas_text(canvas, row.x + 2, row.y, 10, ROLE_NORMAL, kind->name);
	canvas_text_right(canvas, row.x + 12, row.y, 9, ROLE_STRONG, format_bytes(text, kind->bytes));
	canvas_text_right(canvas, row.x + 21, row.y, 6, ROLE_NORMAL,
		format_percent(text, whole_bytes > 0 ? kind->bytes / whole_bytes : NAN));
	if (row.width > 30)
		canvas_text(canvas, row.x + 29, row.y, row.width - 29, ROLE_DIM, kind->note);
}

/* Stacked over time; columns without samples stay empty. */
static void draw_stacked(
	struct scene *scene, const struct kind *kinds, int count, struct canvas *canvas, struct rect rect)
{
	struct plot_point points[KINDS_MAX][TRACE_POINTS_MAX / 4];
	struct scale *scale = &scene->state->scales[SCALE_STEPS];
	int64_t from_ns = trace_since(scene, scene->state->zoom);
	double max = 0;
	for (int kind = 0; kind < count; kind++) {
		double low = NAN, high = NAN;

		trace_extremes(scene, kinds[kind].series, from_ns, &low, &high);
		max += isnan(high) ? 0 : high;
	}
	if (max <= 0)
		return;
	scale_update(scale, 0, max, true);
	struct rect plot = plot_axis(canvas, rect, scale, PLOT_BYTES);
	size_t columns = plot.width < TRACE_POINTS_MAX / 4 ? (size_t)plot.width : TRACE_POINTS_MAX / 4;

	for (int kind = 0; kind < count; kind++)
		trace_series(scene, kinds[kind].series, from_ns, kinds[kind].role, points[kind], columns);
	for (size_t column = 0; column < columns; column++) {
		struct stack_part parts[KINDS_MAX];
		size_t known = 0;

		for (int kind = 0; kind < count; kind++)
			if (!isnan(points[kind][column].high))
				parts[known++] = (struct stack_part){ points[kind][column].high, kinds[kind].role };
		if (known > 0)
			plot_stack(canvas, plot, plot.x + (int)column, scale, parts, known, false, false);
	}
}

static double whole_of(const struct kind *kinds, int count)
{
	double whole = 0;
	for (int kind = 0; kind < count; kind++)
		whole += isnan(kinds[kind].bytes) ? 0 : kinds[kind].bytes;
	return whole;
}

static void panel_kinds(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct memory *memory = &scene->model->memory;
	struct kind kinds[KINDS_MAX];
	int count = kinds_of(scene->model, kinds);
	char text[NUMBER_SIZE];
	struct line line;
	line_start(&line, " · ");
	if (count == KINDS_MAX) {
		line_add(&line, 0, ROLE_NORMAL, "main process %s", format_bytes(text, memory->rss_bytes));
		line_add(&line, 1, ROLE_NORMAL, "peak %s", format_bytes(text, memory->peak_rss_bytes));
	} else {
		line_add(&line, 0, ROLE_NORMAL, "%s", format_bytes(text, whole_of(kinds, count)));
		line_add(&line, 1, ROLE_NORMAL, "shared pages counted once");
		line_add(&line, 2, ROLE_DIM, "main process %s", format_bytes(text, memory->rss_bytes));
		line_add(&line, 3, ROLE_DIM, "its peak %s", format_bytes(text, memory->peak_rss_bytes));
	}
	struct rect inside = parts_panel(canvas, rect, "By kind", &line, ROLE_TITLE),
				plot = rect_take_top(&inside, inside.height - count);

	rect_take_left(&inside, 1);
	if (plot.height >= 3)
		draw_stacked(scene, kinds, count, canvas, plot);
	for (int kind = 0; kind < count && kind < inside.height; kind++)
		draw_kind(canvas, rect_row(inside, kind), &kinds[kind], whole_of(kinds, count));
}

/* Short form of the panel. */
static void kinds_line(const struct model *model, struct canvas *canvas, struct rect row)
{
	struct kind kinds[KINDS_MAX];
	int count = kinds_of(model, kinds);
	char text[NUMBER_SIZE];
	struct line line;
	line_start(&line, "  ");
	if (count == KINDS_MAX)
		line_add(&line, 0, ROLE_MEMORY, "main process %s", format_bytes(text, model->memory.rss_bytes));
	for (int kind = 0; kind < count; kind++)
		line_add(&line, 1 + kind, ROLE_NORMAL, "%s%s %s", kind == 0 && count < KINDS_MAX ? "all processes: " : "",
			kinds[kind].name, format_bytes(text, kinds[kind].bytes));
	if (count < KINDS_MAX)
		line_add(&line, KINDS_MAX + 1, ROLE_DIM, "each counted once");
	line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
}

/* -- the verdict -- */

static void grower_line(const struct memory *memory, struct line *line)
{
	char text[NUMBER_SIZE];
	line_start(line, " · ");
	if (memory->grower[0]) {
		line_add(line, 0, ROLE_NORMAL, "%s has %s of the growth", memory->grower,
			format_percent(text, memory->grower_share_ratio));
		if (memory->grower_kind)
			line_add(line, 1, ROLE_NORMAL, "%s memory", memory_kind_word(memory->grower_kind));
	}
	if (!isnan(memory->growth_per_epoch) && memory_is_growing(memory))
		line_add(line, 3, ROLE_NORMAL, "+%s/epoch", format_bytes(text, memory->growth_per_epoch));
	if (memory->spikes > 0)
		line_add(line, 2, ROLE_WARNING, "%u spike%s in 5 min, last +%s", memory->spikes, memory->spikes > 1 ? "s" : "",
			format_bytes(text, memory->spike_bytes));
}

static void limit_line(const struct memory *memory, struct line *line)
{
	char text[NUMBER_SIZE], whole[NUMBER_SIZE];
	line_start(line, " · ");
	if (!memory->limit) {
		line_add(line, 0, ROLE_DIM, "no known limit");
		return;
	}
	line_add(line, 0, ROLE_NORMAL, "%s: %s left of %s", memory->limit, format_bytes(text, memory->limit_room_bytes),
		format_bytes(whole, memory->limit_bytes));
	if (!isnan(memory->limit_in_s))
		line_add(line, 0, ROLE_WARNING, "full in %s at this rate", parts_waiting(text, memory->limit_in_s));
}

enum { TREND_ROWS = 5 };

static void panel_trend(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct memory *memory = &scene->model->memory;
	char text[2 * LINE_PIECE_SIZE + 300];
	struct line line;
	limit_line(memory, &line);
	memory_snapshot_hint(scene, &line, 0);
	struct rect inside = parts_panel(canvas, rect, "Trend", &line, ROLE_TITLE);

	rect_take_left(&inside, 1);
	struct rect row = rect_take_top(&inside, 1);

	memory_trend_line(scene, &line, row.width);
	line_draw(&line, canvas, row.x, row.y, row.width);
	grower_line(memory, &line);
	if (line.count > 0 && inside.height > 2) {
		row = rect_take_top(&inside, 1);
		line_draw(&line, canvas, row.x, row.y, row.width);
	}
	snprintf(text, sizeof text, "%s%s%s", parts_is_roomy(canvas) ? memory_meaning(memory) : "",
		parts_is_roomy(canvas) ? " " : "", memory_next_step(memory));
	parts_wrap(canvas, inside, memory_is_growing(memory) ? ROLE_NORMAL : ROLE_DIM, text);
}

/* -- the whole -- */

static void processes_title(const struct model *model, struct line *line)
{
	unsigned living = 0;
	char text[NUMBER_SIZE];
	for (size_t i = 0; i < model->process_count; i++)
		living += !model->processes[i].is_gone;
	line_start(line, " · ");
	line_add(line, 0, ROLE_NORMAL, "%u", living);
	line_add(line, 1, ROLE_NORMAL, "at most %s in total: each process counts its shared pages",
		format_bytes(text, model->memory.tree_rss_bytes));
}

static void draw_kinds_and_allocator(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	int rows = rect.height >= 20 ? rect.height * 2 / 5 : rect.height >= 10 ? parts_panel_rows(canvas) + 1 : 1;
	struct rect allocator = rect_take_bottom(&rect, has_allocator(scene_run(scene)) ? rows : 0);
	panel_kinds(scene, canvas, rect);
	if (allocator.height > 0)
		panel_allocator(scene, scene_run(scene), canvas, allocator, scene->state->zoom);
}

static struct rect take_processes(struct rect *rect, int frame, int rows)
{
	int min = rect->height / 4 > 3 ? rect->height / 4 : 3, max = rect->height / 2;
	int table = rows < min ? min : rows > max ? max : rows;
	return rect_take_bottom(rect, rect->height < 8 ? 0 : frame + 1 + table);
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct process *shown[PROCESS_ROWS_MAX];
	int frame = parts_panel_rows(canvas), rows = (int)process_rows(scene, shown);
	struct line line;
	scene->state->list = (struct rect){ 0, 0, 0, 0 };
	if (memory_snapshot_is_open(scene)) {
		memory_snapshot_draw(scene, canvas, rect);
		return;
	}
	if (model_target(scene->model) == NULL) {
		parts_note(canvas, rect, "Memory",
			"pmtop has read nothing about the process yet. [8] Warnings lists what is missing, and why.");
		return;
	}
	struct rect processes = take_processes(&rect, frame, rows);
	struct rect verdict =
		rect_take_bottom(&rect, rect.height < 12 ? (rect.height >= 6 ? frame + 1 : 0) : frame + TREND_ROWS);

	if (rect.width >= 100) {
		draw_kinds_and_allocator(scene, canvas, rect_take_right(&rect, rect.width * 9 / 20));
	} else if (rect.height >= 5) {
		struct rect allocator = rect_take_bottom(&rect, has_allocator(scene_run(scene)) ? 1 : 0);

		kinds_line(scene->model, canvas, rect_take_bottom(&rect, 1));
		if (allocator.height > 0)
			panel_allocator(scene, scene_run(scene), canvas, allocator, scene->state->zoom);
	}
	if (rect.height > 0)
		panel_memory_plot(scene, canvas, rect, scene->state->zoom);
	if (verdict.height > 0)
		panel_trend(scene, canvas, verdict);
	processes_title(scene->model, &line);
	if (processes.height > 0)
		process_table(scene, canvas, parts_panel(canvas, processes, "Processes", &line, ROLE_TITLE), scene->state);
}

static bool matches(const void *rows, int row, const char *search)
{
	return parts_matches(((const struct process *const *)rows)[row]->command, search);
}

static bool key(struct scene *scene, struct key_event event, struct rect rect)
{
	struct view_state *state = scene->state;
	const struct process *rows[PROCESS_ROWS_MAX];
	int count = (int)process_rows(scene, rows);
	(void)rect;
	if (memory_snapshot_is_open(scene))
		return memory_snapshot_key(scene, event);
	if (trace_zoom_key(scene, event))
		return true;
	if (state->search[0] != '\0' && (event.key == 'n' || event.key == 'N')) {
		parts_list_find(scene, event, count, "process", matches, rows);
		return true;
	}
	return parts_list_key(state, event, count, state->list);
}

static void write(const struct scene *scene, struct buffer *out)
{
	const struct model *model = scene->model;
	if (memory_snapshot_is_open(scene)) {
		memory_snapshot_write(scene, out);
		return;
	}
	const struct series *const series[] = { model->series.tree_resident, model->series.resident,
		model->series.anonymous, model->series.file, model->series.shared, model->series.swap,
		model->series.tree_anonymous, model->series.tree_file, model->series.tree_shared };
	buffer_puts(out,
		"time_ns,time,tree_resident_bytes,resident_bytes,anonymous_bytes,file_bytes,shared_bytes,swap_bytes,"
		"tree_anonymous_bytes,tree_file_bytes,tree_shared_bytes\n");
	over_time_write(scene, series, sizeof series / sizeof series[0], OVER_TIME_ROWS_MAX, "", out);
}

const struct view memory_view = {
	.name = "Memory",
	.short_name = "Mem",
	.digit = '4',
	.keys = "q quit  Tab view  ↑↓ process  +/- zoom  T snapshot by line  / search  n/N next match  Space pause  w save "
			"CSV  ? help",
	.keys_short = "q quit  Tab view  ↑↓ process  +/- zoom  / search  w save CSV  ? help",
	.can_search = true,
	.draw = draw,
	.key = key,
	.write = write,
};
