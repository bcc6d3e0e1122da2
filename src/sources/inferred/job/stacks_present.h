/* stacks_present.h: the target's processes, which the collector's sampler thread hands over to the stack thread. All
 * calls for one list are made under one lock. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_PRESENT_H
#define PMTOP_SOURCES_INFERRED_STACKS_PRESENT_H

#include "src/sources/inferred/job/stacks_ranks.h"
#include "src/sources/target/target.h"

enum { STACKS_PROCESSES_MAX = 128 };

/* `fd`: /proc/PID; −1 after another owner took it over. */
struct stacks_process {
	pid_t pid, parent;
	uint64_t start_ticks;
	unsigned generation;
	int fd;
	bool is_retained;
	char command[64];
	bool is_elsewhere; /* another rank, which is no process of the target */
	struct stacks_job job;
};

struct stacks_present {
	size_t count;
	bool has_changed; /* until the reader clears it */
	struct stacks_process list[STACKS_PROCESSES_MAX];
};

/* The index of a process; `count` if it is not in the list. */
size_t stacks_present_find(const struct stacks_present *present, pid_t pid, uint64_t start_ticks, unsigned generation);
/* The target's processes, and the other ranks of its job. */
void stacks_present_take(struct stacks_present *present, const struct target *target, const struct stacks_ranks *ranks);
void stacks_present_release(struct stacks_present *present);
/* The start of a process in CLOCK_REALTIME. */
int64_t stacks_began_ns(uint64_t start_ticks);

#endif
