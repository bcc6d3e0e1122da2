/* explain_flagged.h: explanations of batches: the stored one of a flagged batch, or one that is computed now. */
#ifndef PMTOP_EXPLAIN_EXPLAIN_FLAGGED_H
#define PMTOP_EXPLAIN_EXPLAIN_FLAGGED_H

#include <stdbool.h>

struct batch;
struct explanation;
struct model;
struct run;
struct track;

/* Call after model_apply() and model_flag(): updates the explanation of each flagged batch with new evidence. */
void explain_flagged(struct model *model);
/* Whether a slow batch of the last minute has a cause of which a line of code would say more, so that stacks should be
 * sampled more often: the next slow batch may be like it. */
bool explain_seeks_lines(const struct model *model);
/* The explanation of any batch of a track: the stored one if it is flagged, else computed into *room. */
const struct explanation *explain_any(const struct model *model, const struct run *run, const struct track *track,
	const struct batch *batch, struct explanation *room);

#endif
