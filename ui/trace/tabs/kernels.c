/* Kernels: the rows of the GPU's kernels, by name. */
#include <math.h>
#include <stdio.h>

#include "src/trace/store/profile_kinds.h"
#include "ui/trace/trace_pages.h"
#include "ui/trace/trace_scene.h"

enum kernel_cell {
	CELL_NAME,
	CELL_COUNT,
	CELL_TOTAL,
	CELL_MEAN,
	CELL_MAX,
	CELL_OCCUPANCY,
	CELL_TENSOR,
	CELL_DELAY,
	CELL_SHARE,
	CELL_BAR,
	CELL_OPERATOR,
	CELLS
};

static const struct trace_column columns[CELLS] = {
	[CELL_NAME] = { { "KERNEL", 30, 0, true, true }, TRACE_NAME },
	[CELL_COUNT] = { { "COUNT", 8, 2, false, false }, TRACE_COUNT },
	[CELL_TOTAL] = { { "TOTAL", 10, 0, false, false }, TRACE_TIME },
	[CELL_MEAN] = { { "MEAN", 10, 1, false, false }, TRACE_TIME },
	[CELL_MAX] = { { "MAX", 10, 7, false, false }, TRACE_TIME },
	[CELL_OCCUPANCY] = { { "OCCUP", 6, 3, false, false }, TRACE_RATIO },
	[CELL_TENSOR] = { { "TC", 3, 5, true, false }, TRACE_TEXT },
	[CELL_DELAY] = { { "DELAY", 10, 4, false, false }, TRACE_TIME },
	[CELL_SHARE] = { { "SHARE", 6, 3, false, false }, TRACE_RATIO },
	[CELL_BAR] = { { "", 10, 9, true, false }, TRACE_BAR },
	[CELL_OPERATOR] = { { "LAUNCHED BY", 28, 8, true, false }, TRACE_NAME },
};

static const struct profile_kernel *kernel_at(const struct trace_scene *scene, uint32_t row)
{
	return &scene->analysis->profile.kernels[row];
}

static uint32_t count(const struct trace_scene *scene) { return scene->analysis->profile.kernel_count; }

static double ratio(double part, double whole) { return whole > 0 ? part / whole : NAN; }

static int64_t all_ns(const struct trace_scene *scene)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < scene->analysis->idle.gpu_count; i++)
		sum += scene->analysis->idle.gpus[i].kernel_ns;
	return sum;
}

static double value(const struct trace_scene *scene, uint32_t row, int column)
{
	const struct profile_kernel *kernel = kernel_at(scene, row);
	switch (column) {
	case CELL_COUNT: return (double)kernel->count;
	case CELL_TOTAL: return (double)kernel->total_ns / 1e9;
	case CELL_MEAN: return ratio((double)kernel->total_ns / 1e9, (double)kernel->count);
	case CELL_MAX: return (double)kernel->max_ns / 1e9;
	case CELL_OCCUPANCY: return ratio(kernel->occupancy_sum, kernel->occupancy_ns);
	case CELL_DELAY: return ratio((double)kernel->delay_ns / 1e9, (double)kernel->delay_count);
	default: return ratio((double)kernel->total_ns, (double)all_ns(scene));
	}
}

static void text(const struct trace_scene *scene, uint32_t row, int column, char out[TRACE_TEXT_SIZE])
{
	const struct profile_kernel *kernel = kernel_at(scene, row);
	struct profile_names *names = &scene->analysis->profile.names;
	unsigned traits = profile_name_traits(names, kernel->name);
	if (column == CELL_NAME)
		trace_scene_label(scene, kernel->name | (uint32_t)PROFILE_KERNEL << PROFILE_NAME_BITS, out, TRACE_TEXT_SIZE);
	else if (column == CELL_OPERATOR)
		trace_scene_label(scene, kernel->op, out, TRACE_TEXT_SIZE);
	else
		snprintf(out, TRACE_TEXT_SIZE, "%s", traits & TRAIT_TENSOR_CORE ? "yes" : traits & TRAIT_MATRIX ? "no" : " ");
}

static int by_total(const struct trace_scene *scene)
{
	(void)scene;
	return CELL_TOTAL;
}

static void about(const struct trace_scene *scene, struct line *line)
{
	(void)scene;
	line_add(line, 1, ROLE_NORMAL, "share of the kernel time");
	line_add(line, 2, ROLE_NORMAL, "TC: tensor cores");
	line_add(line, 3, ROLE_NORMAL, "delay: from launch to start");
}

static void open(struct trace_scene *scene, uint32_t row)
{
	trace_pages_work(scene, kernel_at(scene, row)->name | (uint32_t)PROFILE_KERNEL << PROFILE_NAME_BITS);
}

static const char *why_empty(const struct trace_scene *scene, char out[TRACE_WHY_SIZE])
{
	(void)out;
	return count(scene) ? NULL
						: "The trace has no GPU kernels: torch.profiler records them with "
						  "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA].";
}

static const struct trace_table table = {
	.title = "Kernels",
	.what = "kernel",
	.columns = columns,
	.column_count = CELLS,
	.count = count,
	.value = value,
	.text = text,
	.sort = by_total,
	.about = about,
	.open = open,
};

const struct trace_tab kernels_trace_tab = {
	.name = "Kernels",
	.short_name = "Kern",
	.keys = "q quit  Tab view  ↑↓ row  Enter its operators, durations, delays  s sort  I reverse  / search",
	.table = &table,
	.why_empty = why_empty,
};
