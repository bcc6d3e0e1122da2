/* Copies: copies and memsets, by direction and kind of memory. */
#include <math.h>
#include <stdio.h>

#include "src/trace/store/profile_kinds.h"
#include "ui/trace/trace_pages.h"
#include "ui/trace/trace_scene.h"

enum copy_cell {
	CELL_DIRECTION,
	CELL_MEMORY,
	CELL_COUNT,
	CELL_BYTES,
	CELL_TIME,
	CELL_MEAN,
	CELL_RATE,
	CELL_SHARE,
	CELL_BAR,
	CELLS
};

static const struct trace_column columns[CELLS] = {
	[CELL_DIRECTION] = { { "DIRECTION", 12, 0, true, false }, TRACE_TEXT },
	[CELL_MEMORY] = { { "MEMORY", 9, 0, true, false }, TRACE_TEXT },
	[CELL_COUNT] = { { "COUNT", 8, 1, false, false }, TRACE_COUNT },
	[CELL_BYTES] = { { "BYTES", 9, 0, false, false }, TRACE_BYTES },
	[CELL_TIME] = { { "TIME", 10, 0, false, false }, TRACE_TIME },
	[CELL_MEAN] = { { "MEAN", 10, 2, false, false }, TRACE_TIME },
	[CELL_RATE] = { { "RATE", 11, 0, false, false }, TRACE_RATE },
	[CELL_SHARE] = { { "SHARE", 6, 3, false, false }, TRACE_RATIO },
	[CELL_BAR] = { { "", 12, 4, true, true }, TRACE_BAR },
};

static const struct profile_copy *copy_at(const struct trace_scene *scene, uint32_t row)
{
	return &scene->analysis->profile.copies[row];
}

static uint32_t count(const struct trace_scene *scene) { return scene->analysis->profile.copy_count; }

static double value(const struct trace_scene *scene, uint32_t row, int column)
{
	const struct profile_copy *copy = copy_at(scene, row);
	double time_s = (double)copy->total_ns / 1e9, bytes = copy->bytes_count ? (double)copy->bytes : NAN,
		   window_s = trace_scene_window_s(scene);
	switch (column) {
	case CELL_COUNT: return (double)copy->count;
	case CELL_BYTES: return bytes;
	case CELL_TIME: return time_s;
	case CELL_MEAN: return copy->count ? time_s / (double)copy->count : NAN;
	case CELL_RATE: return time_s > 0 ? bytes / time_s : NAN;
	default: return window_s > 0 ? time_s / window_s : NAN;
	}
}

static void text(const struct trace_scene *scene, uint32_t row, int column, char out[TRACE_TEXT_SIZE])
{
	const struct profile_names *names = &scene->analysis->profile.names;
	uint32_t name = copy_at(scene, row)->name;
	int pinned = profile_copy_is_pinned(names, name);
	if (column == CELL_DIRECTION)
		snprintf(out, TRACE_TEXT_SIZE, "%s", profile_direction_names[profile_copy_direction(names, name)]);
	else
		snprintf(out, TRACE_TEXT_SIZE, "%s", pinned > 0 ? "pinned" : pinned == 0 ? "pageable" : "");
}

static int by_time(const struct trace_scene *scene)
{
	(void)scene;
	return CELL_TIME;
}

static void about(const struct trace_scene *scene, struct line *line)
{
	(void)scene;
	line_add(line, 1, ROLE_NORMAL, "share of the trace's time");
	line_add(line, 2, ROLE_NORMAL, "H host, D device");
}

static void open(struct trace_scene *scene, uint32_t row)
{
	trace_pages_work(scene, copy_at(scene, row)->name | (uint32_t)PROFILE_COPY << PROFILE_NAME_BITS);
}

static const char *why_empty(const struct trace_scene *scene, char out[TRACE_WHY_SIZE])
{
	(void)out;
	return count(scene) ? NULL : "The trace has no copies between host and GPU, and no memsets.";
}

static const struct trace_table table = {
	.title = "Copies",
	.what = "copy",
	.columns = columns,
	.column_count = CELLS,
	.count = count,
	.value = value,
	.text = text,
	.sort = by_time,
	.about = about,
	.open = open,
};

const struct trace_tab copies_trace_tab = {
	.name = "Copies",
	.short_name = "Copy",
	.keys = "q quit  Tab view  ↑↓ row  Enter its operators, durations, delays  s sort  I reverse  / search",
	.table = &table,
	.why_empty = why_empty,
};
