/* Gaps: the longest times in which a GPU was idle. */
#include <math.h>
#include <stdio.h>

#include "src/trace/output/profile_view.h"
#include "ui/trace/trace_pages.h"
#include "ui/trace/trace_scene.h"
#include "ui/widgets/parts.h"

enum gap_cell { CELL_LENGTH, CELL_AT, CELL_GPU, CELL_CAUSE, CELL_HOST, CELL_LINE, CELL_BEFORE, CELL_AFTER, CELLS };

static const struct trace_column columns[CELLS] = {
	[CELL_LENGTH] = { { "LENGTH", 10, 0, false, false }, TRACE_TIME },
	[CELL_AT] = { { "AT", 10, 1, false, false }, TRACE_TIME },
	[CELL_GPU] = { { "GPU", 6, 6, true, false }, TRACE_TEXT },
	[CELL_CAUSE] = { { "CAUSE", 19, 1, true, false }, TRACE_TEXT },
	[CELL_HOST] = { { "THE HOST WAS IN", 32, 0, true, true }, TRACE_NAME },
	[CELL_LINE] = { { "PYTHON", 24, 5, true, false }, TRACE_NAME },
	[CELL_BEFORE] = { { "KERNEL BEFORE", 24, 4, true, false }, TRACE_NAME },
	[CELL_AFTER] = { { "KERNEL AFTER", 24, 3, true, false }, TRACE_NAME },
};

static const struct profile_gap *gap_at(const struct trace_scene *scene, uint32_t row)
{
	return &scene->analysis->idle.gaps[row];
}

static uint32_t count(const struct trace_scene *scene) { return scene->analysis->idle.gap_count; }

static double value(const struct trace_scene *scene, uint32_t row, int column)
{
	const struct profile_gap *gap = gap_at(scene, row);
	int64_t ns =
		column == CELL_LENGTH ? gap->end_ns - gap->start_ns : gap->start_ns - scene->analysis->profile.start_ns;
	return (double)ns / 1e9;
}

static void text(const struct trace_scene *scene, uint32_t row, int column, char out[TRACE_TEXT_SIZE])
{
	const struct profile_gap *gap = gap_at(scene, row);
	const struct profile_gpu *gpu = &scene->analysis->idle.gpus[gap->gpu];
	uint32_t kernel = (column == CELL_BEFORE ? gap->before : gap->after);
	char name[PROFILE_GPU_NAME_SIZE];
	switch (column) {
	case CELL_GPU: snprintf(out, TRACE_TEXT_SIZE, "%s", profile_gpu_name(&scene->analysis->profile, gpu, name)); break;
	case CELL_CAUSE: snprintf(out, TRACE_TEXT_SIZE, "%s", gpu->has_split ? profile_idle_words[gap->kind] : ""); break;
	case CELL_HOST:
		snprintf(out, TRACE_TEXT_SIZE, "no operator: Python, or outside the profiler");
		if (gap->host)
			trace_scene_label(scene, gap->host, out, TRACE_TEXT_SIZE);
		break;
	case CELL_LINE: trace_scene_label(scene, gap->line, out, TRACE_TEXT_SIZE); break;
	default:
		out[0] = '\0';
		if (kernel)
			profile_kernel_label(&scene->analysis->profile.names, kernel, out, TRACE_TEXT_SIZE);
	}
}

static int by_length(const struct trace_scene *scene)
{
	(void)scene;
	return CELL_LENGTH;
}

static void about(const struct trace_scene *scene, struct line *line)
{
	char number[NUMBER_SIZE];
	uint64_t found = scene->analysis->idle.gaps_found;
	if (found > count(scene))
		line_add(line, 1, ROLE_NORMAL, "the longest of %s", format_grouped(number, found));
}

static const char *why_empty(const struct trace_scene *scene, char out[TRACE_WHY_SIZE])
{
	(void)out;
	return count(scene)          ? NULL
		: trace_scene_gpu(scene) ? "The GPU was never idle."
								 : "The trace has no GPU work, so no gaps in it: torch.profiler records it with "
								   "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA].";
}

static const struct trace_table table = {
	.title = "Longest gaps",
	.what = "gap",
	.columns = columns,
	.column_count = CELLS,
	.count = count,
	.value = value,
	.text = text,
	.sort = by_length,
	.about = about,
	.open = trace_pages_gap,
};

const struct trace_tab gaps_trace_tab = {
	.name = "Gaps",
	.short_name = "Gaps",
	.keys = "q quit  Tab view  ↑↓ row  Enter what the host did  s sort  I reverse  / search",
	.table = &table,
	.why_empty = why_empty,
};
