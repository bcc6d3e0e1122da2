/* waited_for.h: for which other rank a step waited in collectives, or (published ranks) in phases such as backward, and
 * what that rank did meanwhile. */
#ifndef PMTOP_MODEL_COLLECTIVES_WAITED_FOR_H
#define PMTOP_MODEL_COLLECTIVES_WAITED_FOR_H

#include <stdint.h>

#include "src/model/code/code_samples.h"
#include "src/model/collectives/collectives.h"

struct waited_for {
	double seconds, usual_s; /* for it in the step; for all, median of the steps before (NAN = unknown). 0 s: for none,
								or unknown */
	long number;             /* of the rank that the step waited for; −1 = unknown */
	int32_t pid;
	int64_t read_ns;                  /* when the rank's collectives were last read; 0 = never */
	int64_t from_ns, to_ns;           /* the longest wait for it */
	char op[COLLECTIVE_TEXT_SIZE];    /* of that wait: "all_reduce"; "" = unknown */
	char phase[COLLECTIVE_TEXT_SIZE]; /* of that rank's step, if both are published: "data"; "" = unknown */
	struct sampled_line line;         /* of that rank meanwhile; line 0 = unknown */
};

struct batch;
struct model;
struct run;

/* -- within src/model -- */

/* When the collectives of the process were last read; 0 = never. */
int64_t model_collectives_read_ns(const struct model *model, int32_t pid);
/* Of a step of the run from from_ns to to_ns. A rank that is late only because it waits for a third one is passed
 * over. */
void model_waited_for(const struct model *model, const struct run *run, const struct batch *batch, int64_t from_ns,
	int64_t to_ns, struct waited_for *out);

#endif
