/* waited_steps.h: for which other rank a published step waited, by the phases that its steps have: without a flight
 * recorder. Private to src/model/collectives. */
#ifndef PMTOP_MODEL_COLLECTIVES_WAITED_STEPS_H
#define PMTOP_MODEL_COLLECTIVES_WAITED_STEPS_H

#include "src/model/collectives/waited_for.h"

/* Leaves *out as it is if the step did not wait, or no rank had a step that was longer by most of the wait. */
void waited_steps_find(
	const struct model *model, const struct run *run, const struct batch *batch, struct waited_for *out);

#endif
