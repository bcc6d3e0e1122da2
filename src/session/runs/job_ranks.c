#include "src/session/runs/job_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/session/runs/run_groups.h"
#include "src/session/runs/runs.h"
#include "src/sources/inferred/job/stacks_job.h"

static bool has_pid(const struct target *target, pid_t pid)
{
	for (size_t i = 0; i < target->member_count; i++)
		if (target->members[i].pid == pid)
			return true;
	return false;
}

static int by_rank(const void *a, const void *b)
{
	const struct job_rank *x = a, *y = b;
	long first = strtol(x->rank, NULL, 10), second = strtol(y->rank, NULL, 10);
	return (first > second) - (first < second);
}

/* Adds a process, unless its rank is there: the workers of a rank inherit its environment. */
static size_t add(struct job_rank *out, size_t count, pid_t pid, const char *rank)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(out[i].rank, rank) == 0)
			return count;
	if (count == JOB_RANKS_MAX)
		return count;
	out[count].pid = pid;
	snprintf(out[count].rank, sizeof out[count].rank, "%s", rank);
	return count + 1;
}

/* -- instrumented runs -- */

static size_t find_instrumented(const struct target *target, struct job_rank *out)
{
	struct run_row *rows;
	size_t row_count = runs_find(NULL, &rows), count = 0;
	const struct run_row *first = NULL;
	for (size_t i = 0; i < row_count && !first; i++)
		if (rows[i].is_live && !rows[i].is_elsewhere && rows[i].rank_number >= 0 && has_pid(target, rows[i].pid))
			first = &rows[i];
	for (size_t i = 0; i < row_count && first; i++) {
		char rank[JOB_RANK_SIZE];
		snprintf(rank, sizeof rank, "%ld", rows[i].rank_number);
		if (&rows[i] == first || (rows[i].is_live && !rows[i].is_elsewhere && run_groups_are_one(first, &rows[i])))
			count = add(out, count, rows[i].pid, rank);
	}
	free(rows);
	return count;
}

/* -- by the environment -- */

static size_t add_members(const struct target *target, const struct stacks_job *job, struct job_rank *out, size_t count)
{
	struct stacks_job own;
	for (size_t i = 0; i < target->member_count; i++) {
		stacks_job_read(target->members[i].directory_fd, &own);
		if (stacks_job_is_rank(&own) && stacks_job_is_same(&own, job))
			count = add(out, count, target->members[i].pid, own.rank);
	}
	return count;
}

/* The launcher's processes, if the target itself is a rank; init adopts what has lost its launcher. */
static size_t add_siblings(
	const struct target *target, const struct stacks_job *job, struct job_rank *out, size_t count)
{
	struct target parent;
	struct reason reason;
	if (target->members[0].parent <= 1 ||
		target_open(&parent, target->members[0].parent, "/proc", &reason) != STATUS_OK)
		return count;
	if (target_refresh(&parent) == STATUS_OK)
		count = add_members(&parent, job, out, count);
	target_close(&parent);
	return count;
}

static size_t find_by_environment(const struct target *target, struct job_rank *out)
{
	struct stacks_job job;
	for (size_t i = 0; i < target->member_count; i++) {
		stacks_job_read(target->members[i].directory_fd, &job);
		if (!stacks_job_is_rank(&job))
			continue;
		size_t count = add_members(target, &job, out, 0);
		return i == 0 ? add_siblings(target, &job, out, count) : count;
	}
	return 0;
}

size_t job_ranks_find(const struct target *target, struct job_rank out[JOB_RANKS_MAX])
{
	size_t count = target->member_count ? find_instrumented(target, out) : 0;
	if (count < 2 && target->member_count)
		count = find_by_environment(target, out);
	if (count < 2) {
		out[0] = (struct job_rank){ .pid = target->pid };
		return 1;
	}
	qsort(out, count, sizeof *out, by_rank);
	return count;
}
