/* stacks_missing.h: why no stacks are seen, as a figure that is missing. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_MISSING_H
#define PMTOP_SOURCES_INFERRED_STACKS_MISSING_H

#include <sys/types.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"

struct stacks_missing {
	enum status status; /* why the target itself is not looked at; OK: it is, or was not tried yet */
	struct reason why;
	/* CLOCK_MONOTONIC: since when the memory of `stuck_pid` cannot be read; 0 = of all it can */
	int64_t stuck_since_ns;
	pid_t stuck_pid;
	/* its own */
	bool is_emitted;
	struct reason emitted;
};

/* Appends what has changed. `open_ns`: how long the source is open; `has_any`: something of the target's processes was
 * seen. */
void stacks_missing_emit(
	struct stacks_missing *missing, int64_t open_ns, bool has_any, int64_t now_ns, struct sample_set *out);

#endif
