#include "src/serving/watched_search.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/session/runs/run_groups.h"
#include "src/session/runs/runs.h"
#include "src/sources/inferred/job/stacks_job.h"

enum { ANCESTORS_MAX = 64 };

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	size_t length;
	int parent = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK)
		return 0;
	const char *end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static bool is_process(const struct run_row *row) { return row->is_live && !row->is_elsewhere; }

/* Another process of the list that contains it: one session watches both. */
static bool has_ancestor(const struct run_row *rows, size_t count, pid_t pid)
{
	for (unsigned depth = 0; depth < ANCESTORS_MAX && (pid = parent_of(pid)) > 1; depth++)
		for (size_t i = 0; i < count; i++)
			if (is_process(&rows[i]) && rows[i].pid == pid)
				return true;
	return false;
}

/* By the environment of its launcher; the job of a process that is no rank has no rank either. */
static struct stacks_job job_of(pid_t pid)
{
	struct stacks_job job = { .rank = "" };
	char path[32];
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	int directory = file_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
	if (directory < 0)
		return job;
	stacks_job_read(directory, &job);
	close(directory);
	return job;
}

static bool is_of_job(const struct run_row *row, const struct run_row *other)
{
	struct stacks_job a, b;
	if (run_groups_are_one(row, other))
		return true;
	a = job_of(row->pid);
	b = job_of(other->pid);
	return stacks_job_is_same(&a, &b);
}

/* The launcher of several ranks of one run, such as torchrun or mpirun, else the process itself. */
static pid_t target_of(const struct run_row *rows, size_t count, const struct run_row *row)
{
	pid_t parent = parent_of(row->pid);
	for (size_t i = 0; i < count && parent > 1; i++)
		if (&rows[i] != row && is_process(&rows[i]) && parent_of(rows[i].pid) == parent && is_of_job(&rows[i], row))
			return parent;
	return row->pid;
}

static bool has_target(const struct watched_target *targets, size_t count, const struct watched_target *target)
{
	for (size_t i = 0; i < count; i++)
		if (targets[i].pid == target->pid && strcmp(targets[i].name, target->name) == 0)
			return true;
	return false;
}

size_t watched_search(struct watched_target *out, size_t max)
{
	struct run_row *rows;
	size_t row_count = runs_find(NULL, &rows), count = 0;
	for (size_t i = 0; i < row_count && count < max; i++) {
		struct watched_target target = { 0 };
		if (!rows[i].is_live || (!rows[i].is_elsewhere && has_ancestor(rows, row_count, rows[i].pid)))
			continue;
		if (rows[i].is_elsewhere)
			snprintf(target.name, sizeof target.name, "%s.%d", rows[i].run, (int)rows[i].pid);
		else
			target.pid = target_of(rows, row_count, &rows[i]);
		if (!has_target(out, count, &target))
			out[count++] = target;
	}
	free(rows);
	return count;
}
