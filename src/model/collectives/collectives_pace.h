/* collectives_pace.h: which rank enters collectives last, by how much, and which one its CPU quota throttles. */
#ifndef PMTOP_MODEL_COLLECTIVES_COLLECTIVES_PACE_H
#define PMTOP_MODEL_COLLECTIVES_COLLECTIVES_PACE_H

#include "src/model/collectives/collectives.h"

struct collectives_view;

/* Of the newest collectives that all members entered: of 30 s, but at least 20. Others wait for a rank only so far as
 * its delay is its own (own_delay.h). */
struct collective_pace {
	size_t complete;
	double interval_s;                        /* median time between two collectives; NAN = unknown, here and below */
	double skew_s;                            /* median time from the first to the last rank to enter */
	int straggler;                            /* the rank that others wait for most; −1 = none */
	double last_ratio;                        /* share of the collectives that it entered last */
	double late_s;                            /* its own delays (own_delay.h): half of their time is in longer ones */
	double waits_ratio[COLLECTIVE_RANKS_MAX]; /* of each rank: share of the time in which others waited for it */
	double waited_ratio; /* share of the time in which others waited for it; 0 = there is no straggler. Its longest
							delays are left out: a few long ones make no straggler */
};

void collectives_pace(const struct model *model, size_t group, struct collective_pace *out);
/* The pace of the group with the largest waited_ratio. While a CPU quota throttles one rank, another is no straggler
 * unless others wait for it longer than that. Returns the group; −1 = no group has enough collectives. */
int collectives_slowest(const struct model *model, struct collective_pace *out);
/* The living rank that its CPU quota throttles a tenth of the time, and twice as long as any other; −1 = none.
 * *others_ratio: of the one after it; 0 = of none it is known. */
int collectives_throttled(const struct model *model, double *ratio, double *others_ratio);

/* -- within src/model -- */

void collectives_view_pace(const struct collectives_view *view, struct collective_pace *out);

#endif
