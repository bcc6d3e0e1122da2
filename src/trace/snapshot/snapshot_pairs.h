/* snapshot_pairs.h: the lines of two snapshots side by side. */
#ifndef PMTOP_TRACE_SNAPSHOT_PAIRS_H
#define PMTOP_TRACE_SNAPSHOT_PAIRS_H

#include "src/trace/snapshot/snapshot.h"

struct snapshot_pair {
	uint32_t frame; /* of b; 0 = no stack was recorded */
	struct snapshot_live a, b;
};

/* In use when they were taken; the largest growth first. */
struct snapshot_pairs {
	struct snapshot_pair *rows; /* NULL: no memory */
	size_t count;
};

/* Adds the frames of `a` to those of `b`. */
struct snapshot_pairs snapshot_pairs_of(const struct snapshot *a, struct snapshot *b);
int64_t snapshot_pair_change(const struct snapshot_pair *pair);
void snapshot_pairs_release(struct snapshot_pairs *pairs);

#endif
