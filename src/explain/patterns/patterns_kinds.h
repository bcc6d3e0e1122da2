/* patterns_kinds.h: two kinds of steps: a bimodal distribution of step times. */
#ifndef PMTOP_EXPLAIN_PATTERNS_PATTERNS_KINDS_H
#define PMTOP_EXPLAIN_PATTERNS_PATTERNS_KINDS_H

#include <stdbool.h>

struct pattern;
struct steps;

bool find_kinds(struct steps *steps, struct pattern *out);

#endif
