/* profile_waits.h: the waits of all host threads on one time line. */
#ifndef PMTOP_TRACE_PROFILE_WAITS_H
#define PMTOP_TRACE_PROFILE_WAITS_H

#include "src/trace/analysis/profile_idle.h"

/* Makes the waits disjoint and sorted. Where several overlap, communication comes before data, copies and sync; their
 * `trait` becomes an enum profile_idle_kind. False: no memory. */
bool profile_waits_flatten(struct profile *profile, struct profile_waits *waits);
/* Splits [start, end) by them; the rest is IDLE_HOST. `first`: where an earlier call for an earlier time ended, or 0.
 * Returns where the next may begin. */
uint32_t profile_waits_split(const struct profile_waits *waits, uint32_t first, int64_t start_ns, int64_t end_ns,
	int64_t split[IDLE_KIND_COUNT]);

/* Of flat waits, the parts in copies from pageable memory to a GPU, flat too. After profile_host_nest(). False: no
 * memory. */
bool profile_waits_of_uploads(
	struct profile *profile, const struct profile_waits *waits, struct profile_waits *uploads);

#endif
