/* profile_spread.h: how a set of durations is distributed. */
#ifndef PMTOP_TRACE_PROFILE_SPREAD_H
#define PMTOP_TRACE_PROFILE_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROFILE_BINS = 12 };

struct profile_spread {
	int64_t *values; /* until it is settled in any order, then ascending */
	size_t count, capacity;
	int64_t min, median, p95, max, sum;
	/* Bin i counts the values from edges[i] up to, but not with, edges[i + 1]; the last one includes its upper edge.
	 * Edges are equally far apart, or in equal ratios if the largest value is over WIDE times the smallest. */
	int64_t edges[PROFILE_BINS + 1];
	uint64_t bins[PROFILE_BINS];
	unsigned bin_count; /* 0: no value; 1: all are equal; at most one for each value */
};

/* False: no memory; the value is missing. */
bool profile_spread_add(struct profile_spread *spread, int64_t value);
/* Computes all but `values` and `count`. */
void profile_spread_settle(struct profile_spread *spread);
void profile_spread_release(struct profile_spread *spread);

#endif
