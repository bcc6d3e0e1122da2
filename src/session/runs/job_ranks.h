/* job_ranks.h: the processes that are the ranks of one job: instrumented runs of one id, or processes whose launcher
 * gave them RANK and WORLD_SIZE. */
#ifndef PMTOP_SESSION_RUNS_JOB_RANKS_H
#define PMTOP_SESSION_RUNS_JOB_RANKS_H

#include <stddef.h>

#include "src/sources/target/target.h"

enum { JOB_RANKS_MAX = 64, JOB_RANK_SIZE = 16 };

struct job_rank {
	pid_t pid;
	char rank[JOB_RANK_SIZE]; /* "0"; empty: the process is no rank */
};

/* The ranks on this machine of the job that the target, or one of its processes, is a rank of, in their order. At least
 * one: the target itself, if it is no rank and has none. */
size_t job_ranks_find(const struct target *target, struct job_rank out[JOB_RANKS_MAX]);

#endif
