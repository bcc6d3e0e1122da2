/* judgement.h: whether a run got slower than its baseline or went over its budgets: one verdict a figure, with its
 * figures.
 *
 * A regression: the ratio of the step times is beyond the threshold, and its 95 % interval leaves "no change" out.
 * Where it is not beyond it, or only below it, it passes. Cannot be told: the interval holds both "no change" and
 * "beyond the threshold", or there are too few steps. A budget is broken where the figure is above it, and so is the
 * low end of its interval. */
#ifndef PMTOP_COMPARE_JUDGEMENT_H
#define PMTOP_COMPARE_JUDGEMENT_H

#include <stddef.h>

#include "src/base/buffer.h"
#include "src/compare/budget.h"
#include "src/compare/comparison.h"

#define THRESHOLD_DEFAULT 0.2

enum outcome { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_UNTOLD };

struct judged_figure {
	char name[SUMMARY_NAME]; /* "step", "data" */
	enum outcome outcome;
	enum budget_unit unit; /* of now, baseline, low and high where it is a budget's */
	bool is_budget;
	double now, baseline, limit; /* limit: of a ratio (1.2), or of the budget */
	struct interval change;      /* the ratio to the baseline; of a budget the figure; NAN: no interval */
	char text[320];              /* the figures in a sentence */
};

enum { JUDGED_MAX = BUDGETS_MAX + 1, WARNINGS_MAX = 12 };

struct judgement {
	const struct summary *now, *baseline; /* baseline NULL: only budgets */
	double threshold;
	enum outcome outcome; /* failed where any has; else untold where any is */
	size_t count;
	struct judged_figure figures[JUDGED_MAX];
	size_t warning_count;
	char warnings[WARNINGS_MAX][256]; /* what makes the baseline another one: machine, batch size, model … */
	struct comparison comparison;     /* only with a baseline */
};

/* Budgets name phases that the run has (budget_check_names). */
void judge(const struct summary *now, const struct summary *baseline, double threshold,
	const struct budget_list *budgets, struct judgement *out);
/* A line for each warning and each figure, for logs that are searched; the last says it all. */
void judgement_as_text(struct buffer *out, const struct judgement *judgement, bool has_color);
void judgement_as_json(struct buffer *out, const struct judgement *judgement);
/* JUnit's XML, as GitHub's, GitLab's and Jenkins's readers take it: a test case for each figure; what cannot be told is
 * an error there. */
void judgement_as_junit(struct buffer *out, const struct judgement *judgement, double elapsed_s);

#endif
