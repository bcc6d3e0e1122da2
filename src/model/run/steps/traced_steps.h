/* traced_steps.h: steps in a trace that PyTorch takes on pmtop's request (METRIC_PROCESS_TRACED) have the kind
 * "profile", as those that a program profiles itself: they have a median of their own, and are never flagged. */
#ifndef PMTOP_MODEL_RUN_TRACED_STEPS_H
#define PMTOP_MODEL_RUN_TRACED_STEPS_H

#include "src/model/run/run.h"

/* A trace of the run's process has begun, or has ended. */
void run_note_traced(struct run *run, int64_t time_ns, bool is_traced);
/* The kind of a batch that has ended: "profile" if a trace was taken during it, else the published one. */
uint32_t run_kind_of(struct run *run, const struct batch *batch, uint32_t published);

#endif
