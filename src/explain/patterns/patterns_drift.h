/* patterns_drift.h: steps that are slower since a batch, or become slower. */
#ifndef PMTOP_EXPLAIN_PATTERNS_PATTERNS_DRIFT_H
#define PMTOP_EXPLAIN_PATTERNS_PATTERNS_DRIFT_H

#include <stdbool.h>

struct pattern;
struct steps;

bool find_drift(struct steps *steps, struct pattern *out);

#endif
