/* profile_strays.h: events that lie far from all others, by a clock that was wrong or a duration that is damaged. */
#ifndef PMTOP_TRACE_PROFILE_STRAYS_H
#define PMTOP_TRACE_PROFILE_STRAYS_H

#include "src/trace/store/profile.h"

/* Drops them, counts them in profile->stray_count, and narrows the window: of a window over 10 minutes that is empty
 * but for its ends, the few events (1 of 100) at one end. After profile_foreign_convert(). */
void profile_strays_drop(struct profile *profile);

#endif
