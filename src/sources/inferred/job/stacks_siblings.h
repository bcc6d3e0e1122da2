/* stacks_siblings.h: ranks that one Python process has spawned (torch.multiprocessing.spawn, multiprocessing.Process).
 * They have no RANK in the environment with which they started; their parent, what their stacks show, and the order of
 * their starts say which ranks they are. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_SIBLINGS_H
#define PMTOP_SOURCES_INFERRED_STACKS_SIBLINGS_H

#include <stdint.h>
#include <sys/types.h>

#include "src/sources/inferred/job/stacks_job.h"

enum { STACKS_NUMBER_UNKNOWN = -1 };

struct stacks_sibling {
	pid_t pid, parent;
	uint64_t start_ticks;
	bool is_rank; /* its stack has shown that it is one of several ranks */
	long number;  /* that its own variables show; STACKS_NUMBER_UNKNOWN */
};

/* The job of list[index], which consists of the ranks with its parent. Without distinct numbers from 0 on they are in
 * the order of their starts, and uncertain. False: it is no rank, or the only one. */
bool stacks_siblings_job(const struct stacks_sibling *list, size_t count, size_t index, struct stacks_job *out);

#endif
