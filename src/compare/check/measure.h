/* measure.h: the figures that budgets limit, of a summary. */
#ifndef PMTOP_COMPARE_CHECK_MEASURE_H
#define PMTOP_COMPARE_CHECK_MEASURE_H

#include <stdbool.h>

#include "src/compare/budget.h"
#include "src/compare/comparison.h"

/* What a name is, by the unit of its limit; none of these: NULL and NAN. */
struct named {
	const struct summary_phase *phase;
	const struct summary_operation *operation;
	double gauge;
};
struct named measure_named(const struct budget *budget, const struct summary *summary);

struct measured {
	struct interval value; /* low = high: no interval */
	enum row_unit unit;
	bool is_share;  /* of a step */
	uint64_t count; /* of an operation's occurrences; 0: it is no operation */
};
/* False: unknown. */
bool measure_budget(const struct budget *budget, const struct summary *summary, struct measured *out);
/* The ratio now ÷ baseline of that figure. */
bool measure_ratio(
	const struct budget *budget, const struct summary *now, const struct summary *baseline, struct interval *out);

#endif
