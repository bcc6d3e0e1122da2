/* patterns_mild.h: every k-th batch slightly slower. */
#ifndef PMTOP_EXPLAIN_PATTERNS_PATTERNS_MILD_H
#define PMTOP_EXPLAIN_PATTERNS_PATTERNS_MILD_H

#include <stdbool.h>

struct pattern;
struct steps;

bool find_mild(struct steps *steps, struct pattern *out);

#endif
