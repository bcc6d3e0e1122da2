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

#endif
