/* stacks_limits.h: passes over DataLoaders that end before their loader does: `for a, b in zip(loader, other)`,
 * `for a in islice(loader, 10)`; and a pass that goes on through several epochs, each of which takes some of its
 * batches: `batches = iter(loader)`, `for epoch in range(9): for a in islice(batches, 10)`. */
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

/* Zeroed at first. */
struct stacks_span {
	uint64_t serial, number; /* of the pass; of the epoch that it had at first, 0 = unknown */
	uint64_t yielded;        /* when that was last seen to have changed */
	unsigned others;         /* how often, and batches have come in between */
};

/* Whether this pass has batches of several epochs. `number`: that of the epoch now; 0 = unknown, or the pass has just
 * begun. `is_behind`: as of stacks_loops_is_behind. */
bool stacks_span_note(struct stacks_span *span, const struct py_counted *counted, uint64_t number, bool is_behind);

#endif
