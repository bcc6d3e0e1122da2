/* patterns_next.h: which batches a pattern has, and when its next one is due. */
#ifndef PMTOP_EXPLAIN_PATTERNS_PATTERNS_NEXT_H
#define PMTOP_EXPLAIN_PATTERNS_PATTERNS_NEXT_H

#include "src/explain/patterns/patterns.h"

struct pattern_next {
	uint64_t ordinal; /* of the newest batch that is known */
	uint64_t number;  /* of the next batch of the pattern, in the run, as published */
	uint64_t ahead;   /* so many batches after the newest one, at least 1 */
	uint64_t every;   /* and again after so many */
	uint64_t spread;  /* it may come so many batches sooner or later */
	int64_t from_ns;  /* when the newest batch began */
	double step_s;    /* the mean of the latest */
};

/* Whether a batch of the run's main mode is one of the pattern's. */
bool pattern_has(const struct pattern *pattern, const struct run *run, const struct batch *batch);
/* False: the pattern has no period, or its batches are no longer retained. */
bool pattern_find_next(const struct pattern *pattern, const struct run *run, struct pattern_next *out);

#endif
