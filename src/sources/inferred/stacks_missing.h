/* stacks_missing.h: emits why there are no stacks. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_MISSING_H
#define PMTOP_SOURCES_INFERRED_STACKS_MISSING_H

#include <sys/types.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"

enum { STACKS_WHY_SIZE = 160 };

struct stacks_missing {
	enum status status; /* why the target itself is not sampled; OK: it is, or was not tried yet */
	struct reason why;
	/* CLOCK_MONOTONIC: since when the memory of `stuck_pid` cannot be read; 0 = all can be read */
	int64_t stuck_since_ns;
	pid_t stuck_pid;
	char no_steps[STACKS_WHY_SIZE]; /* why the target's steps are not inferred; "" = unknown, or they are */
	/* private */
	char emitted_no_steps[STACKS_WHY_SIZE];
	bool is_emitted;
	struct reason emitted;
};

struct remote_reader;

/* The stack thread itself is blocked: on a process that keeps its mmap_lock. It publishes nothing meanwhile. */
void stacks_missing_note_waiting(struct stacks_missing *missing, struct remote_reader *reader, int64_t now_ns);
/* Emits changes. `open_ns`: how long the source has been open; `has_any`: some process of the target was sampled. */
void stacks_missing_emit(
	struct stacks_missing *missing, int64_t open_ns, bool has_any, int64_t now_ns, struct sample_set *out);

#endif
