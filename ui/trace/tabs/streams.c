/* Streams: what each stream of each GPU does, and when. */
#include <math.h>
#include <stdio.h>

#include "src/trace/output/profile_view.h"
#include "ui/core/layout.h"
#include "ui/trace/trace_scene.h"
#include "ui/trace/trace_strip.h"
#include "ui/widgets/parts.h"

enum stream_cell {
	CELL_GPU,
	CELL_STREAM,
	CELL_BUSY,
	CELL_SHARE,
	CELL_BAR,
	CELL_KERNELS,
	CELL_KERNEL_TIME,
	CELL_COPIES,
	CELL_COPY_TIME,
	CELL_COMMUNICATION,
	CELLS
};

static const struct trace_column columns[CELLS] = {
	[CELL_GPU] = { { "GPU", 6, 0, true, false }, TRACE_TEXT },
	[CELL_STREAM] = { { "STREAM", 14, 0, true, true }, TRACE_NAME },
	[CELL_BUSY] = { { "BUSY", 10, 0, false, false }, TRACE_TIME },
	[CELL_SHARE] = { { "SHARE", 6, 0, false, false }, TRACE_RATIO },
	[CELL_BAR] = { { "", 16, 5, true, false }, TRACE_BAR },
	[CELL_KERNELS] = { { "KERNELS", 8, 1, false, false }, TRACE_COUNT },
	[CELL_KERNEL_TIME] = { { "COMPUTE", 10, 2, false, false }, TRACE_TIME },
	[CELL_COPIES] = { { "COPIES", 8, 3, false, false }, TRACE_COUNT },
	[CELL_COPY_TIME] = { { "COPYING", 10, 3, false, false }, TRACE_TIME },
	[CELL_COMMUNICATION] = { { "COMM", 10, 2, false, false }, TRACE_TIME },
};

static const struct profile_stream *stream_at(const struct trace_scene *scene, uint32_t row)
{
	return &scene->streams.rows[row];
}

static uint32_t count(const struct trace_scene *scene) { return scene->streams.count; }

static double value(const struct trace_scene *scene, uint32_t row, int column)
{
	const struct profile_stream *stream = stream_at(scene, row);
	double window_s = trace_scene_window_s(scene), busy_s = (double)stream->busy_ns / 1e9;
	switch (column) {
	case CELL_BUSY: return busy_s;
	case CELL_KERNELS: return (double)stream->kernel_count;
	case CELL_KERNEL_TIME: return (double)stream->kernel_ns / 1e9;
	case CELL_COPIES: return (double)stream->copy_count;
	case CELL_COPY_TIME: return (double)stream->copy_ns / 1e9;
	case CELL_COMMUNICATION: return (double)stream->communication_ns / 1e9;
	default: return window_s > 0 ? busy_s / window_s : NAN;
	}
}

static void text(const struct trace_scene *scene, uint32_t row, int column, char out[TRACE_TEXT_SIZE])
{
	const struct profile_track *track = stream_at(scene, row)->track;
	char label[24];
	if (column == CELL_GPU)
		snprintf(out, TRACE_TEXT_SIZE, "%s", profile_gpu_label(track->device, label));
	else
		profile_stream_label(&scene->analysis->profile, track, out, TRACE_TEXT_SIZE);
}

static int by_busy(const struct trace_scene *scene)
{
	(void)scene;
	return CELL_BUSY;
}

static void about(const struct trace_scene *scene, struct line *line)
{
	line_add(line, 1, ROLE_NORMAL, "share of the trace's time");
	if (scene->streams.left_out)
		line_add(line, 0, ROLE_WARNING, "%u more are left out", scene->streams.left_out);
}

static const struct trace_table table = {
	.title = "Streams",
	.what = "stream",
	.columns = columns,
	.column_count = CELLS,
	.count = count,
	.value = value,
	.text = text,
	.sort = by_busy,
	.about = about,
};

/* -- when each is busy -- */

static void draw_strips(
	const struct trace_scene *scene, const struct trace_list *list, struct canvas *canvas, struct rect rect)
{
	enum { LABEL = 22 };
	char gpu[24], stream[100], number[NUMBER_SIZE];
	double part_ns = trace_scene_window_s(scene) * 1e9 / PROFILE_CURVE_SIZE;
	struct line line;
	line_start(&line, " · ");
	line_add(&line, 0, ROLE_NORMAL, "0 s – %s", format_seconds(number, trace_scene_window_s(scene)));
	struct rect inside = parts_panel(canvas, rect, "When each is busy", &line, ROLE_TITLE);
	for (int i = 0; i < inside.height && i + list->state.scroll < (int)list->count; i++) {
		const struct profile_stream *row = stream_at(scene, list->order[i + list->state.scroll]);
		struct rect strip = rect_row(inside, i), label = rect_take_left(&strip, LABEL);
		profile_stream_label(&scene->analysis->profile, row->track, stream, sizeof stream);
		canvas_printf(canvas, label.x, label.y, LABEL - 1,
			i + list->state.scroll == list->state.row ? ROLE_STRONG : ROLE_NORMAL, "%s %s",
			profile_gpu_label(row->track->device, gpu), stream);
		trace_strip_draw(canvas, strip, row->busy_curve_ns, part_ns, ROLE_PLOT);
	}
}

static void draw(struct trace_scene *scene, struct canvas *canvas, struct rect rect)
{
	struct trace_list *list = &scene->lists[TRACE_TAB_streams];
	int frame = parts_panel_rows(canvas), rows = (int)count(scene) + frame;
	struct rect strips = rect_take_bottom(&rect, rows < rect.height / 2 ? rows : rect.height / 2);
	trace_table_draw(scene, &table, list, canvas, rect);
	if (strips.height > frame)
		draw_strips(scene, list, canvas, strips);
}

static const char *why_empty(const struct trace_scene *scene, char out[TRACE_WHY_SIZE])
{
	(void)out;
	return count(scene) ? NULL
						: "The trace has no GPU work, so no streams: torch.profiler records it with "
						  "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA].";
}

const struct trace_tab streams_trace_tab = {
	.name = "Streams",
	.short_name = "Strm",
	.keys = "q quit  Tab view  ↑↓ row  s sort  I reverse  / search",
	.table = &table,
	.why_empty = why_empty,
	.draw = draw,
};
