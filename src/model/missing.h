/* missing.h: what could not be read, why, and what to do, as sources report it. */
#ifndef PMTOP_MODEL_MISSING_H
#define PMTOP_MODEL_MISSING_H

#include <stdbool.h>

/* What a missing figure is of, by its name as sources emit it. */
enum missing_subject { MISSING_OTHER, MISSING_REGION, MISSING_STACKS, MISSING_STEPS, MISSING_GPU, MISSING_COUNTERS };

struct missing {
	char figure[48], text[160], remedy[160];
	enum missing_subject subject;
	bool is_mere_absence; /* of the region: the program has no instrumentation, which is no fault */
};

/* Fills subject and is_mere_absence from the texts. */
void missing_classify(struct missing *missing);

#endif
