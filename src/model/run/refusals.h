/* refusals.h: calls of the program that its own publisher refused, in words. The region counts them, since the run
 * began; pmtop shows them. */
#ifndef PMTOP_MODEL_RUN_REFUSALS_H
#define PMTOP_MODEL_RUN_REFUSALS_H

#include <stddef.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

struct run;

/* "no_lane", as JSON and OpenMetrics name the reason. */
const char *refusal_key(enum refusal reason);
const char *refusal_why(enum refusal reason); /* "more threads publish than the region has lanes" */
/* Calls refused for this reason; for REFUSAL_COUNT those whose reason is not known, as in regions of older writers. */
uint64_t run_refused_for(const struct run *run, unsigned reason);
/* Refused calls that left a gap in the figures: all but ends without their begin and batches that never ended. */
uint64_t run_refused_gaps(const struct run *run);
/* Why most of those were refused; "" where the reason is not known or nothing was refused. */
const char *run_refused_why(const struct run *run);
const char *run_refused_remedy(const struct run *run);

#endif
