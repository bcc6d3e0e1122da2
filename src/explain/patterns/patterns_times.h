/* patterns_times.h: slow batches at equal distances in time. */
#ifndef PMTOP_EXPLAIN_PATTERNS_PATTERNS_TIMES_H
#define PMTOP_EXPLAIN_PATTERNS_PATTERNS_TIMES_H

#include <stdbool.h>

struct pattern;
struct steps;

bool find_beat(struct steps *steps, struct pattern *out);

#endif
