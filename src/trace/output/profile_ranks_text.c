#include "src/trace/output/profile_ranks_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/trace/output/profile_shorten.h"
#include "src/trace/output/profile_text.h"

enum { FIGURES_WIDTH = 50, LISTED_MAX = 8 };

bool profile_ranks_are_known(struct profile_analysis *const *ranks, size_t count)
{
	bool is_known = false;
	for (size_t i = 0; i < count; i++)
		is_known |= ranks[i]->profile.rank >= 0;
	return is_known;
}

static size_t traces_of(struct profile_analysis *const *ranks, size_t count, int64_t rank)
{
	size_t traces = 0;
	for (size_t i = 0; i < count; i++)
		traces += ranks[i]->profile.rank == rank;
	return traces;
}

static int64_t world_size(struct profile_analysis *const *ranks, size_t count)
{
	int64_t size = -1;
	for (size_t i = 0; i < count; i++)
		size = ranks[i]->profile.world_size > size ? ranks[i]->profile.world_size : size;
	return size;
}

const char *profile_ranks_note(struct profile_analysis *const *ranks, size_t count, char out[PROFILE_RANKS_NOTE_SIZE])
{
	int64_t size = world_size(ranks, count), listed = 0;
	size_t length = 0;
	out[0] = '\0';
	if (count < 2 || !profile_ranks_are_known(ranks, count))
		return out;
	for (size_t i = 0; i < count && !length; i++)
		if (ranks[i]->profile.rank >= 0 && traces_of(ranks, count, ranks[i]->profile.rank) > 1)
			length = (size_t)snprintf(out, PROFILE_RANKS_NOTE_SIZE, "Rank %" PRId64 " has %zu traces. ",
				ranks[i]->profile.rank, traces_of(ranks, count, ranks[i]->profile.rank));
	for (int64_t rank = 0; rank < size && listed <= LISTED_MAX; rank++) {
		if (traces_of(ranks, count, rank))
			continue;
		length += (size_t)snprintf(out + length, PROFILE_RANKS_NOTE_SIZE - length,
			!listed                   ? "Traces of ranks are missing: %" PRId64
				: listed < LISTED_MAX ? ", %" PRId64
									  : ", …",
			rank);
		listed++;
	}
	return out;
}

static void print_rank(struct buffer *out, const struct profile_analysis *rank, const char *name, int width)
{
	const struct profile_gpu *gpu = rank->idle.gpu_count ? &rank->idle.mean : NULL;
	char number[NUMBER_SIZE];
	double sum = 0;
	for (uint32_t k = 0; k < rank->idle.step_count; k++)
		sum += (double)rank->idle.steps[k].duration_ns / 1e9;
	profile_cell(out, name, width);
	buffer_printf(out, rank->profile.rank >= 0 ? "%4" PRId64 " " : "   – ", rank->profile.rank);
	profile_cell(out,
		rank->profile.end_ns > rank->profile.start_ns
			? format_seconds(number, (double)(rank->profile.end_ns - rank->profile.start_ns) / 1e9)
			: "–",
		-9);
	profile_cell(
		out, gpu && gpu->window_ns ? format_percent(number, (double)gpu->busy_ns / (double)gpu->window_ns) : "–", -9);
	profile_cell(out,
		gpu && gpu->communication_ns ? format_seconds(number, (double)(gpu->communication_ns - gpu->overlap_ns) / 1e9)
									 : "–",
		-11);
	profile_cell(out, rank->idle.step_count ? format_seconds(number, sum / rank->idle.step_count) : "–", -12);
	profile_end_row(out);
}

void profile_ranks_as_text(
	struct buffer *out, struct profile_analysis *const *ranks, size_t count, const struct profile_view *view)
{
	struct profile_short_names names;
	char note[PROFILE_RANKS_NOTE_SIZE];
	int width = view->width - FIGURES_WIDTH;
	if (!profile_short_names_make(&names, count)) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const char *path = ranks[i]->path, *slash = strrchr(path, '/');
		path = slash ? slash + 1 : path;
		text_clean(names.whole[i], sizeof names.whole[i], path, strlen(path));
	}
	profile_short_names_cut(&names, (size_t)width);
	/* Of one process, torch.profiler's schedule writes a trace for each cycle. */
	profile_heading(out, view, profile_ranks_are_known(ranks, count) ? "RANKS" : "TRACES");
	profile_cell(out, "file", width);
	buffer_puts(out, "rank      time  GPU busy  comm. only    step mean\n");
	for (size_t i = 0; i < count; i++)
		print_rank(out, ranks[i], names.shown[i], width);
	if (profile_ranks_note(ranks, count, note)[0])
		buffer_printf(out, "  %s\n", note);
	profile_short_names_free(&names);
}
