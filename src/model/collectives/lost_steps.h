/* lost_steps.h: lost time of published ranks whose collectives are not known: from their steps and the spans in which
 * they wait for each other (ranks_is_wait), over the newest RUN_RECENT steps that all ranks have.
 *
 * A rank's own time of a step is the step without these spans. All begin together; who has the larger own time enters
 * the wait later, and those before wait. Private to src/model/collectives. */
#ifndef PMTOP_MODEL_COLLECTIVES_LOST_STEPS_H
#define PMTOP_MODEL_COLLECTIVES_LOST_STEPS_H

#include "src/model/collectives/lost_time.h"

/* Stays unknown with fewer than 20 steps, or if the ranks' steps differ: then they do not wait for each other. */
void lost_steps_measure(const struct model *model, struct lost_time *out);

#endif
