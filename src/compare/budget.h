/* budget.h: the limits of check --budget: "data:20%,step:0.3s,memory:4GB,accuracy:min=0.9,evaluate:1.2x". */
#ifndef PMTOP_COMPARE_BUDGET_H
#define PMTOP_COMPARE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/status.h"
#include "src/compare/summary/summary.h"

struct whole_figure;

enum { BUDGETS_MAX = 32 };

/* BUDGET(NAME, "word"): figures of steps, with an interval, in seconds. Other words are those of whole_figures; any
 * other is the name of a phase, an operation or a gauge. */
#define BUDGETS(X) \
	X(STEP, "step") \
	X(MEAN, "mean") \
	X(P95, "p95")
enum budget_what {
#define BUDGET_ID(name, word) BUDGET_##name,
	BUDGETS(BUDGET_ID)
#undef BUDGET_ID
		BUDGET_WHOLE,
	BUDGET_NAMED
};
/* TIMES: times the baseline's figure. */
enum budget_unit { LIMIT_SECONDS, LIMIT_BYTES, LIMIT_RATIO, LIMIT_NUMBER, LIMIT_JOULES, LIMIT_TIMES };

struct budget {
	enum budget_what what;
	enum budget_unit unit;
	bool is_min;                      /* min=: a lower limit */
	const struct whole_figure *whole; /* of BUDGET_WHOLE */
	char name[SUMMARY_NAME];          /* as written */
	double limit;
};

struct budget_list {
	size_t count;
	struct budget budgets[BUDGETS_MAX];
};

/* Parses the option; NULL gives an empty list. STATUS_INVALID: why_not has the faulty part, and examples. */
enum status budget_parse(const char *text, struct budget_list *out, struct reason *why_not);
/* STATUS_INVALID: a budget names what the run does not have, and why_not lists what it has; or it is relative, and
 * there is no baseline. */
enum status budget_check_names(
	const struct budget_list *list, const struct summary *summary, bool has_baseline, struct reason *why_not);

#endif
