/* stacks_present.h: which processes of the target's there are, as the sampler thread hands them over to the one that
 * looks at their stacks. All calls for one list under one lock. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_PRESENT_H
#define PMTOP_SOURCES_INFERRED_STACKS_PRESENT_H

#include "src/sources/target/target.h"

enum { STACKS_PROCESSES_MAX = 128 };

/* `fd`: /proc/PID; who takes it over leaves -1. */
struct stacks_who {
	pid_t pid, parent;
	uint64_t start_ticks;
	unsigned generation;
	int fd;
	bool is_retained;
	char command[64];
};

struct stacks_present {
	size_t count;
	bool has_changed; /* until who reads it says false */
	struct stacks_who list[STACKS_PROCESSES_MAX];
};

/* The index of a process; `count`: it is not there. */
size_t stacks_present_find(const struct stacks_present *present, pid_t pid, uint64_t start_ticks, unsigned generation);
void stacks_present_take(struct stacks_present *present, const struct target *target);
void stacks_present_release(struct stacks_present *present);
/* CLOCK_REALTIME of when a process began. */
int64_t stacks_began_ns(uint64_t start_ticks);

#endif
