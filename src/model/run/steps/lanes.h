/* lanes.h: the events of a lane (a producing thread): batches and their steps. */
#ifndef PMTOP_MODEL_RUN_STEPS_LANES_H
#define PMTOP_MODEL_RUN_STEPS_LANES_H

#include "src/model/run/run_private.h"

/* A published epoch that begins within a batch which is in none begins with that batch. */
void lane_begin_epoch(struct run *run, struct lane *lane, const struct record *record);
void lane_begin_batch(struct run *run, struct lane *lane, const struct record *record);
void lane_end_batch(struct run *run, struct lane *lane, const struct record *record);
/* The batch that runs there is of the current mode: it moves to that mode's track. */
void lane_follow_mode(struct run *run, struct lane *lane, const struct record *record);
void lane_add_evidence(struct run *run, struct lane *lane, const struct record *record);
void lane_add_span(struct run *run, struct lane *lane, const struct record *record);
void lane_lose(struct lane *lane);
/* The epoch or the run ends, or another batch begins: the step of the batch that ended before is known. */
void lane_close_step(struct run *run, struct lane *lane, const struct record *record);

#endif
