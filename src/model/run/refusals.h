/* refusals.h: calls that the program's publisher refused, with reasons. The region counts them since the run began. */
#ifndef PMTOP_MODEL_RUN_REFUSALS_H
#define PMTOP_MODEL_RUN_REFUSALS_H

#include <stddef.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

struct run;

/* The reason's name in JSON and OpenMetrics: "no_lane". */
const char *refusal_key(enum refusal reason);
const char *refusal_why(enum refusal reason); /* "more threads publish than the region has lanes" */
/* Calls refused for this reason; REFUSAL_COUNT: for unknown reasons, as in regions of older writers. */
uint64_t run_refused_for(const struct run *run, unsigned reason);
/* Refused calls that left a gap in the figures: all except ends without a begin and batches that never ended. */
uint64_t run_refused_gaps(const struct run *run);
/* The most frequent reason, and its remedy; "" = unknown, or nothing was refused. */
const char *run_refused_why(const struct run *run);
const char *run_refused_remedy(const struct run *run);

#endif
