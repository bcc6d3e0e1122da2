#include "src/commands/trace/trace_ranks.h"

#include <stdlib.h>
#include <string.h>

static void read_one(struct trace_ranks *ranks, const char *path)
{
	struct trace_failure failure = { STATUS_NO_MEMORY, { "out of memory", "" } };
	struct profile_analysis *rank = malloc(sizeof *rank);
	if (rank)
		failure.status = profile_analyse(rank, path, ranks->group, &ranks->progress, &failure.reason);
	if (failure.status == STATUS_OK) {
		ranks->rows[ranks->count++] = rank;
		return;
	}
	free(rank);
	if (!profile_progress_is_stopped(&ranks->progress))
		ranks->failures[ranks->failure_count++] = failure;
}

static int by_rank(const void *a, const void *b)
{
	const struct profile_analysis *x = *(struct profile_analysis *const *)a, *y = *(struct profile_analysis *const *)b;
	return x->profile.rank != y->profile.rank
		? (x->profile.rank > y->profile.rank) - (x->profile.rank < y->profile.rank)
		: strcmp(x->path, y->path);
}

void trace_ranks_read(struct trace_ranks *ranks)
{
	size_t count = ranks->files.count;
	ranks->rows = calloc(count + 1, sizeof *ranks->rows);
	ranks->failures = calloc(count + 1, sizeof *ranks->failures);
	ranks->has_no_memory = !ranks->rows || !ranks->failures;
	for (size_t i = 0; i < count && !ranks->has_no_memory && !profile_progress_is_stopped(&ranks->progress); i++) {
		atomic_store(&ranks->progress.done_bytes, 0);
		atomic_store(&ranks->progress.size_bytes, 0);
		atomic_store(&ranks->at, i);
		read_one(ranks, ranks->files.paths[i]);
	}
	if (ranks->count)
		qsort(ranks->rows, ranks->count, sizeof(struct profile_analysis *), by_rank);
	atomic_store(&ranks->is_done, true);
}

enum exit_code trace_ranks_report(const struct trace_ranks *ranks)
{
	struct reason no_memory = { "out of memory", "" };
	enum exit_code code = ranks->has_no_memory ? command_fail(STATUS_NO_MEMORY, &no_memory) : EXIT_OK;
	for (size_t i = 0; i < ranks->failure_count; i++)
		code = command_fail(ranks->failures[i].status, &ranks->failures[i].reason);
	return code;
}

void trace_ranks_release(struct trace_ranks *ranks)
{
	for (size_t i = 0; i < ranks->count; i++) {
		profile_analysis_release(ranks->rows[i]);
		free(ranks->rows[i]);
	}
	free(ranks->rows);
	free(ranks->failures);
	profile_files_release(&ranks->files);
}
