/* Memory: the curve of allocated memory of a device, and who holds it at the peak. */
#include <math.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/trace/output/profile_view.h"
#include "ui/core/layout.h"
#include "ui/core/plot_axis.h"
#include "ui/trace/trace_pages.h"
#include "ui/trace/trace_scene.h"
#include "ui/widgets/parts.h"

enum holder_cell { CELL_BYTES, CELL_SHARE, CELL_BAR, CELL_COUNT, CELL_OPERATOR, CELL_LINE, CELLS };

static const struct trace_column holder_columns[CELLS] = {
	[CELL_BYTES] = { { "BYTES", 9, 0, false, false }, TRACE_BYTES },
	[CELL_SHARE] = { { "SHARE", 6, 0, false, false }, TRACE_RATIO },
	[CELL_BAR] = { { "", 12, 4, true, false }, TRACE_BAR },
	[CELL_COUNT] = { { "TENSORS", 8, 2, false, false }, TRACE_COUNT },
	[CELL_OPERATOR] = { { "ALLOCATED IN", 30, 0, true, true }, TRACE_NAME },
	[CELL_LINE] = { { "PYTHON", 36, 3, true, false }, TRACE_NAME },
};

static const struct profile_memory *shown(const struct trace_scene *scene)
{
	const struct profile_memories *memories = &scene->analysis->memories;
	return memories->count ? &memories->devices[scene->device < memories->count ? scene->device : 0] : NULL;
}

static int64_t earlier_bytes(const struct profile_memory *memory)
{
	return memory->peak_bytes > memory->seen_bytes ? memory->peak_bytes - memory->seen_bytes : 0;
}

/* One more row for what was allocated before the trace. */
static uint32_t count(const struct trace_scene *scene)
{
	const struct profile_memory *memory = shown(scene);
	return memory ? memory->holder_count + (earlier_bytes(memory) > 0) : 0;
}

static bool is_earlier(const struct trace_scene *scene, uint32_t row) { return row >= shown(scene)->holder_count; }

static double value(const struct trace_scene *scene, uint32_t row, int column)
{
	const struct profile_memory *memory = shown(scene);
	double bytes = (double)(is_earlier(scene, row) ? earlier_bytes(memory) : memory->holders[row].bytes);
	switch (column) {
	case CELL_BYTES: return bytes;
	case CELL_COUNT: return is_earlier(scene, row) ? NAN : (double)memory->holders[row].count;
	default: return memory->peak_bytes > 0 ? bytes / (double)memory->peak_bytes : NAN;
	}
}

static void text(const struct trace_scene *scene, uint32_t row, int column, char out[TRACE_TEXT_SIZE])
{
	const struct profile_memory *memory = shown(scene);
	out[0] = '\0';
	if (is_earlier(scene, row)) {
		if (column == CELL_OPERATOR)
			snprintf(out, TRACE_TEXT_SIZE, "allocated before the trace");
		return;
	}
	trace_scene_label(
		scene, column == CELL_OPERATOR ? memory->holders[row].op : memory->holders[row].line, out, TRACE_TEXT_SIZE);
	if (column == CELL_OPERATOR && !out[0])
		snprintf(out, TRACE_TEXT_SIZE, "outside operators");
}

static int by_bytes(const struct trace_scene *scene)
{
	(void)scene;
	return CELL_BYTES;
}

static void open(struct trace_scene *scene, uint32_t row)
{
	const struct profile_memory *memory = shown(scene);
	uint32_t name = is_earlier(scene, row) ? 0 : memory->holders[row].op;
	for (uint32_t i = 0; name && i < scene->analysis->ops.count; i++)
		if (profile_name_of(scene->analysis->ops.rows[i].name) == name) {
			trace_pages_op(scene, scene->analysis->ops.rows[i].name);
			return;
		}
	snprintf(scene->message, sizeof scene->message, "this row has no details");
}

static const struct trace_table table = {
	.title = "Who holds the peak",
	.what = "operator",
	.columns = holder_columns,
	.column_count = CELLS,
	.count = count,
	.value = value,
	.text = text,
	.sort = by_bytes,
	.open = open,
};

/* -- the curve -- */

static void curve_title(const struct trace_scene *scene, const struct profile_memory *memory, struct line *line)
{
	char text_[NUMBER_SIZE];
	const struct profile *profile = &scene->analysis->profile;
	line_start(line, " · ");
	line_add(line, 0, ROLE_STRONG, "peak %s", format_bytes(text_, (double)memory->peak_bytes));
	line_add(
		line, 1, ROLE_NORMAL, "at %s", format_seconds(text_, (double)(memory->peak_at_ns - profile->start_ns) / 1e9));
	if (memory->device_type > 0 && profile->peak_reserved_bytes > 0)
		line_add(line, 2, ROLE_NORMAL, "reserved %s", format_bytes(text_, profile->peak_reserved_bytes));
	for (uint32_t i = 0; i < profile->gpu_count && memory->device_type > 0; i++)
		if (profile->gpus[i].index == memory->device && profile->gpus[i].memory_bytes > 0)
			line_add(line, 2, ROLE_NORMAL, "of %s", format_bytes(text_, profile->gpus[i].memory_bytes));
	line_add(line, 3, ROLE_NORMAL, "%s allocations", format_grouped(text_, memory->allocations));
	if (scene->analysis->memories.count > 1)
		line_add(line, 2, ROLE_KEY, "←→ device");
}

/* The curve's points, stretched over the columns; a part without an event keeps the value before. */
static void draw_points(
	const struct profile_memory *memory, struct canvas *canvas, struct rect rect, const struct scale *scale)
{
	enum { POINTS_MAX = 2048 };
	struct plot_point points[POINTS_MAX];
	double values[PROFILE_CURVE_SIZE], last = (double)memory->start_bytes;
	size_t columns = plot_resolution(canvas, rect);
	columns = columns < POINTS_MAX ? columns : POINTS_MAX;
	for (int i = 0; i < PROFILE_CURVE_SIZE; i++)
		values[i] = last = memory->curve[i] >= 0 ? (double)memory->curve[i] : last;
	for (size_t i = 0; i < columns; i++) {
		size_t from = i * PROFILE_CURVE_SIZE / columns, to = (i + 1) * PROFILE_CURVE_SIZE / columns;
		double highest = values[from];
		for (size_t k = from; k < to; k++)
			highest = values[k] > highest ? values[k] : highest;
		points[i] = (struct plot_point){ highest, highest, ROLE_MEMORY, false };
	}
	plot_points(canvas, rect, scale, points, columns, true);
}

static void draw_curve(const struct trace_scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct profile_memory *memory = shown(scene);
	const struct profile *profile = &scene->analysis->profile;
	struct scale scale = { 0 };
	struct line line;
	char title[48], label[24], number[NUMBER_SIZE];
	snprintf(title, sizeof title, "Allocated memory: %s",
		memory->device_type > 0 ? profile_gpu_label(memory->device, label) : "CPU");
	curve_title(scene, memory, &line);
	struct rect inside = parts_panel(canvas, rect, title, &line, ROLE_TITLE),
				times = rect_take_bottom(&inside, inside.height > 4 ? 1 : 0);
	scale_update(&scale, 0, (double)memory->peak_bytes, true);
	struct rect plot = plot_axis(canvas, inside, &scale, PLOT_BYTES);
	draw_points(memory, canvas, plot, &scale);
	if (!times.height)
		return;
	canvas_text(canvas, plot.x, times.y, plot.width, ROLE_DIM, "0 s");
	canvas_text_right(canvas, plot.x, times.y, plot.width, ROLE_DIM,
		format_seconds(number, (double)(profile->end_ns - profile->start_ns) / 1e9));
}

static void draw(struct trace_scene *scene, struct canvas *canvas, struct rect rect)
{
	struct rect plot = rect_take_top(&rect, rect.height / 2);
	if (plot.height > 3)
		draw_curve(scene, canvas, plot);
	trace_table_draw(scene, &table, &scene->lists[TRACE_TAB_memory], canvas, rect);
}

static bool key(struct trace_scene *scene, struct key_event event)
{
	uint32_t devices = scene->analysis->memories.count;
	int step = event.key == KEY_ARROW_RIGHT || event.key == 'l' ? 1
		: event.key == KEY_ARROW_LEFT || event.key == 'h'       ? -1
																: 0;
	if (!step || devices < 2)
		return false;
	scene->device = (scene->device + devices + (uint32_t)step) % devices;
	trace_list_forget(&scene->lists[TRACE_TAB_memory]);
	return true;
}

static const char *why_empty(const struct trace_scene *scene, char out[TRACE_WHY_SIZE])
{
	(void)out;
	return scene->analysis->memories.count ? NULL
		: !scene->analysis->profile.has_categories
		? "The trace has no memory events: only PyTorch writes them."
		: "The trace has no memory events: torch.profiler.profile(profile_memory=True) records them.";
}

const struct trace_tab memory_trace_tab = {
	.name = "Memory",
	.short_name = "Mem",
	.keys = "q quit  Tab view  ←→ device  ↑↓ row  Enter operator  s sort  I reverse  / search",
	.table = &table,
	.why_empty = why_empty,
	.draw = draw,
	.key = key,
};
