/* patterns_periods.h: every k-th batch slow. */
#ifndef PMTOP_EXPLAIN_PATTERNS_PATTERNS_PERIODS_H
#define PMTOP_EXPLAIN_PATTERNS_PATTERNS_PERIODS_H

#include <stdbool.h>

struct pattern;
struct steps;

bool find_epoch_first(struct steps *steps, struct pattern *out);
bool find_comb(struct steps *steps, struct pattern *out);

#endif
