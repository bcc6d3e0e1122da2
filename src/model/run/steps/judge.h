/* judge.h: the warm-up, the kinds of batches, and which batches are slow for their kind. */
#ifndef PMTOP_MODEL_RUN_STEPS_JUDGE_H
#define PMTOP_MODEL_RUN_STEPS_JUDGE_H

#include "src/model/run/run.h"

/* At the batch's end: what it is judged among. */
void track_set_kind(const struct run *run, struct track *track, struct batch *batch, uint32_t kind);
/* The step is known: it counts for the warm-up, or is compared with its baseline. */
void track_finish_step(struct run *run, struct track *track, struct batch *batch);
/* When the warm-up was over: 0 = before pmtop came, or no batch has begun; INT64_MAX = not yet. */
int64_t run_warmup_end(const struct run *run);

#endif
