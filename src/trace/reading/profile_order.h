/* profile_order.h: sorts the events of each track by start; of equal starts the longer is first. Events that are in
 * order except for a few long runs, as Kineto writes them, cost little more than a comparison. */
#ifndef PMTOP_TRACE_PROFILE_ORDER_H
#define PMTOP_TRACE_PROFILE_ORDER_H

#include "src/trace/store/profile.h"

/* Of one track. False: no memory. */
bool profile_order_track(struct profile_track *track);
/* Also sets host_base. False: no memory. */
bool profile_order(struct profile *profile);

#endif
