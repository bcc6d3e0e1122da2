/* judgement.h: whether a run is slower than its baseline or exceeds its budgets, with an outcome for each figure:
 * steps, operations (check/judge_rest.h), requests, and what the budgets name.
 *
 * A regression: the ratio of the step times exceeds the threshold, and its 95 % interval excludes "no change".
 * Inconclusive: the interval includes both "no change" and a ratio above the threshold, or there are too few
 * steps. Otherwise the run passes. An operation that is too rare for an interval is judged by its ratio alone. A budget
 * fails if both the figure and the nearer end of its interval exceed it. */
#ifndef PMTOP_COMPARE_JUDGEMENT_H
#define PMTOP_COMPARE_JUDGEMENT_H

#include <stddef.h>

#include "src/base/buffer.h"
#include "src/compare/budget.h"
#include "src/compare/comparison.h"

#define THRESHOLD_DEFAULT 0.2

enum outcome { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_INCONCLUSIVE };

struct judged_figure {
	char name[SUMMARY_NAME]; /* "step", "data" */
	enum outcome outcome;
	enum budget_unit unit;       /* of a budget: the unit of now, limit and change */
	bool is_budget, is_min;      /* min: of a budget, the limit is a lower one */
	double now, baseline, limit; /* limit: a ratio (1.2), or the budget */
	struct interval change;      /* the ratio to the baseline; of an absolute budget the figure; NAN: no interval */
	char text[320];              /* a sentence with the figures */
};

enum { JUDGED_MAX = BUDGETS_MAX + 66, WARNINGS_MAX = 12 };

struct judgement {
	const struct summary *now, *baseline; /* baseline NULL: only budgets */
	double threshold;
	enum outcome outcome; /* FAILED if any figure has; else INCONCLUSIVE if any is */
	size_t count;
	struct judged_figure figures[JUDGED_MAX];
	size_t warning_count;
	char warnings[WARNINGS_MAX][256]; /* differences between baseline and run: machine, batch size, model … */
	struct comparison comparison;     /* only with a baseline */
};

/* The caller has checked the budgets' phases (budget_check_names). */
void judge(const struct summary *now, const struct summary *baseline, double threshold,
	const struct budget_list *budgets, struct judgement *out);

#endif
