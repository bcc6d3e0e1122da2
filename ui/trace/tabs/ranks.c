/* Ranks: the traces beside each other. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/trace/output/profile_ranks_text.h"
#include "ui/trace/trace_scene.h"

enum rank_cell {
	CELL_FILE,
	CELL_RANK,
	CELL_TIME,
	CELL_STEP,
	CELL_BUSY,
	CELL_HOST,
	CELL_EXPOSED,
	CELL_OVERLAP,
	CELL_PEAK,
	CELL_EVENTS,
	CELLS
};

static const struct trace_column columns[CELLS] = {
	[CELL_FILE] = { { "FILE", 20, 0, true, true }, TRACE_NAME },
	[CELL_RANK] = { { "RANK", 5, 0, false, false }, TRACE_COUNT },
	[CELL_TIME] = { { "TIME", 10, 2, false, false }, TRACE_TIME },
	[CELL_STEP] = { { "STEP MEAN", 10, 0, false, false }, TRACE_TIME },
	[CELL_BUSY] = { { "GPU BUSY", 9, 0, false, false }, TRACE_RATIO },
	[CELL_HOST] = { { "CPU-BOUND", 10, 2, false, false }, TRACE_RATIO },
	[CELL_EXPOSED] = { { "COMM ONLY", 10, 1, false, false }, TRACE_TIME },
	[CELL_OVERLAP] = { { "OVERLAP", 8, 4, false, false }, TRACE_RATIO },
	[CELL_PEAK] = { { "PEAK MEM", 9, 3, false, false }, TRACE_BYTES },
	[CELL_EVENTS] = { { "EVENTS", 10, 5, false, false }, TRACE_COUNT },
};

static uint32_t count(const struct trace_scene *scene) { return (uint32_t)scene->rank_count; }

static double ratio(double part, double whole) { return whole > 0 ? part / whole : NAN; }

static double step_mean_s(const struct profile_idle *idle)
{
	double sum = 0;
	for (uint32_t i = 0; i < idle->step_count; i++)
		sum += (double)idle->steps[i].duration_ns;
	return ratio(sum / 1e9, idle->step_count);
}

static double of_gpu(const struct profile_gpu *gpu, int column)
{
	bool has_communication = gpu->communication_ns > 0;
	switch (column) {
	case CELL_BUSY: return ratio((double)gpu->busy_ns, (double)gpu->window_ns);
	case CELL_HOST: return gpu->has_split ? ratio((double)gpu->idle_split_ns[IDLE_HOST], (double)gpu->window_ns) : NAN;
	case CELL_EXPOSED: return has_communication ? (double)(gpu->communication_ns - gpu->overlap_ns) / 1e9 : NAN;
	default: return ratio((double)gpu->overlap_ns, (double)gpu->communication_ns);
	}
}

static double value(const struct trace_scene *scene, uint32_t row, int column)
{
	const struct profile_analysis *rank = scene->ranks[row];
	const struct profile *profile = &rank->profile;
	const struct profile_memories *memories = &rank->memories;
	switch (column) {
	case CELL_RANK: return profile->rank >= 0 ? (double)profile->rank : NAN;
	case CELL_TIME:
		return profile->end_ns > profile->start_ns ? (double)(profile->end_ns - profile->start_ns) / 1e9 : NAN;
	case CELL_STEP: return step_mean_s(&rank->idle);
	case CELL_PEAK:
		return memories->count && memories->devices[0].device_type > 0 ? (double)memories->devices[0].peak_bytes : NAN;
	case CELL_EVENTS: return (double)profile->event_count;
	default: return rank->idle.gpu_count ? of_gpu(&rank->idle.mean, column) : NAN;
	}
}

static void text(const struct trace_scene *scene, uint32_t row, int column, char out[TRACE_TEXT_SIZE])
{
	const char *path = scene->ranks[row]->path, *slash = strrchr(path, '/');
	(void)column;
	path = slash ? slash + 1 : path;
	text_clean(out, TRACE_TEXT_SIZE, path, strlen(path));
}

static int by_step(const struct trace_scene *scene)
{
	return isnan(value(scene, 0, CELL_STEP)) ? CELL_TIME : CELL_STEP;
}

static void about(const struct trace_scene *scene, struct line *line)
{
	char note[PROFILE_RANKS_NOTE_SIZE];
	bool has_gpu = false;
	for (size_t i = 0; i < scene->rank_count; i++)
		has_gpu |= scene->ranks[i]->idle.gpu_count > 0;
	if (profile_ranks_note(scene->ranks, scene->rank_count, note)[0])
		line_add(line, 0, ROLE_WARNING, "%s", note);
	if (!profile_ranks_are_known(scene->ranks, scene->rank_count))
		line_add(line, 0, ROLE_NORMAL, "no trace says its rank");
	if (!has_gpu)
		return;
	line_add(line, 1, ROLE_NORMAL, "CPU-bound: GPU idle, waiting for the CPU");
	line_add(line, 2, ROLE_NORMAL, "comm only: communication without kernels");
}

static void open(struct trace_scene *scene, uint32_t row)
{
	scene->go_to_rank = row;
	scene->go_to = TRACE_TAB_overview;
}

static enum role role(const struct trace_scene *scene, uint32_t row, int column)
{
	(void)column;
	return row == scene->rank ? ROLE_ACCENT : ROLE_NORMAL;
}

static const char *why_empty(const struct trace_scene *scene, char out[TRACE_WHY_SIZE])
{
	(void)out;
	return scene->rank_count > 1
		? NULL
		: "This is one trace. pmtop trace FILE FILE … or pmtop trace DIR compares the traces of several ranks.";
}

static const struct trace_table table = {
	.title = "Ranks",
	.what = "trace",
	.columns = columns,
	.column_count = CELLS,
	.count = count,
	.value = value,
	.text = text,
	.sort = by_step,
	.about = about,
	.open = open,
	.role = role,
};

const struct trace_tab ranks_trace_tab = {
	.name = "Ranks",
	.short_name = "Rank",
	.keys = "q quit  Tab view  ↑↓ row  Enter show this rank  s sort  I reverse  / search",
	.table = &table,
	.why_empty = why_empty,
};
