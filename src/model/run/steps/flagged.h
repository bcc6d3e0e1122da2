/* flagged.h: the flagged batches that a run retains. */
#ifndef PMTOP_MODEL_RUN_STEPS_FLAGGED_H
#define PMTOP_MODEL_RUN_STEPS_FLAGGED_H

#include <stdint.h>

#include "src/model/run/run.h"

/* Flags the batch, which is not flagged yet, and stores a copy of it with its baseline. */
void run_add_flagged(struct run *run, struct track *track, struct batch *batch);
/* By hand: model_flag. */
bool run_flag(struct run *run, unsigned track, uint64_t ordinal, bool flagged);
void run_release_flagged(struct run *run);
/* The copy of a batch that was flagged before it was finished. */
void run_renew_flagged(struct run *run, const struct track *track, const struct batch *batch);

struct explanation;
struct flagged;
struct run;

/* The explanation that a flagged batch holds. Before explain_flagged() has filled it: one without rows and causes,
 * whose figures are NAN. */
const struct explanation *flagged_explanation(const struct flagged *flagged);
/* NULL: that batch is not flagged. */
const struct flagged *run_find_flagged(const struct run *run, uint32_t mode, uint64_t ordinal);

#endif
