/* profile_shares.h: sums by name, the largest first: what the parts of something take. */
#ifndef PMTOP_TRACE_PROFILE_SHARES_H
#define PMTOP_TRACE_PROFILE_SHARES_H

#include "src/trace/store/profile.h"

struct profile_table;

struct profile_share {
	uint32_t name; /* and kind, where the owner says so */
	uint64_t count;
	int64_t host_ns, gpu_ns;
};

struct profile_shares {
	struct profile_share *rows;
	uint32_t count, capacity;
	struct profile_table *index; /* name → row + 1 */
};

/* Adds to the row of a name. */
void profile_shares_add(struct profile *profile, struct profile_shares *shares, uint32_t name, uint64_t count,
	int64_t host_ns, int64_t gpu_ns);
/* By GPU time, then by host time. */
void profile_shares_sort(struct profile_shares *shares);
void profile_shares_release(struct profile_shares *shares);

#endif
