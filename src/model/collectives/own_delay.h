/* own_delay.h: for how much of its delay in a collective a rank itself is the reason.
 *
 * A rank may enter late only because it waited in other collectives, for a third rank: for the rest of its delay it was
 * busy itself. Waits count since the group's latest collective that had ended when the first rank entered this one, and
 * only so far as they are longer than those of that first rank. A rank waits in a collective until the last member has
 * entered it. */
#ifndef PMTOP_MODEL_COLLECTIVES_OWN_DELAY_H
#define PMTOP_MODEL_COLLECTIVES_OWN_DELAY_H

#include "src/model/collectives/collectives.h"

/* `late_s`: by how much `rank` entered it later than `first`, or a part of that at its end. */
double own_delay_s(const struct collectives *all, const struct collective_group *group,
	const struct collective_slot *slot, size_t first, size_t rank, double late_s);
/* When the latest collective of the group before this one ended that had ended at this time; 0 = unknown. */
int64_t own_delay_since(const struct collective_group *group, uint64_t sequence, int64_t at_ns);
/* How long the rank waited in collectives of all groups. */
double own_delay_waited_s(const struct collectives *all, size_t rank, int64_t from_ns, int64_t to_ns);

#endif
