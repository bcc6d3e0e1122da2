/* stacks_limits.h: passes over DataLoaders that end before their loader does: `for a, b in zip(loader, other)`,
 * `for a in islice(loader, 10)`. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LIMITS_H
#define PMTOP_SOURCES_INFERRED_STACKS_LIMITS_H

#include "src/sources/inferred/steps/stacks_loops_fetch.h"

/* Zeroed at first. */
struct stacks_limits {
	size_t next;
	struct stacks_limit {
		uint64_t serial, length; /* of the pass; 0 = unknown */
		enum stacks_ending ending;
	} known[PY_COUNTED_MAX];
};

/* Corrects lengths, and batches that were fetched after the last one. */
void stacks_limits_apply(
	struct stacks_limits *limits, const struct stacks_loops *loops, struct py_counted *counted, size_t count);

#endif
