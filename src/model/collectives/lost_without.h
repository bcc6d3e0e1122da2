/* lost_without.h: what a step would take without one rank's delays, from the retained collectives. Private to
 * src/model/collectives. */
#ifndef PMTOP_MODEL_COLLECTIVES_LOST_WITHOUT_H
#define PMTOP_MODEL_COLLECTIVES_LOST_WITHOUT_H

#include "src/model/collectives/lost_time.h"

/* Fills `without` and what follows. Of several groups the one in which a rank's delays cost most counts. */
void lost_without_measure(const struct model *model, struct lost_time *out);

#endif
