/* phases.h: the phases of one batch. */
#ifndef PMTOP_MODEL_RUN_FIGURES_PHASES_H
#define PMTOP_MODEL_RUN_FIGURES_PHASES_H

#include "src/model/run/run.h"

/* False: no row for it; its time stays in the unattributed (or between) time. */
bool batch_add_phase(
	struct batch *batch, uint32_t name, uint32_t parent, double seconds, double cpu_s, double memory_bytes);
/* The rows of its own; none while there is no time for them. `name`: NAME_BETWEEN or the published phase that stands
 * for it. */
void batch_set_unattributed(struct batch *batch, double seconds);
void batch_add_between(struct batch *batch, uint32_t name, double seconds);
/* The row of a phase among a batch's or a baseline's; NULL: none. */
const struct phase_time *phase_find(const struct phase_time *phases, unsigned count, uint32_t name, uint32_t parent);

#endif
