#include "src/compare/check/judge_budget.h"

#include <math.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/compare/check/judged.h"
#include "src/compare/check/measure.h"
#include "src/compare/page.h"

static const char *value_text(char out[PAGE_VALUE], enum row_unit unit, double value)
{
	if (unit == ROW_RATIO)
		snprintf(out, PAGE_VALUE, value < 0.00995 ? "%.2f %%" : "%.1f %%", value * 100);
	else
		page_value(out, unit, value);
	return out;
}

/* Whether the limit is exceeded, and whether the whole interval exceeds it. */
static bool exceeds(const struct budget *budget, double value)
{
	return budget->is_min ? value < budget->limit : value > budget->limit;
}

static void settle_budget(
	struct judged_figure *figure, const struct budget *budget, const char *figures, const char *limit)
{
	double nearest = budget->is_min ? figure->change.high : figure->change.low;
	const char *allowed = budget->is_min ? "at least " : "", *verb = budget->is_min ? "required" : "allowed";
	if (exceeds(budget, figure->change.value) && exceeds(budget, nearest))
		judged_settle(figure, OUTCOME_FAILED, "%s: %s; %s%s is %s",
			budget->is_min ? "below its budget" : "over its budget", figures, allowed, limit, verb);
	else
		judged_settle(figure, OUTCOME_PASSED, "%s; %s%s is %s%s", figures, allowed, limit, verb,
			exceeds(budget, figure->change.value) ? ", but the excess is within noise" : "");
}

static void judge_absolute(struct judged_figure *figure, const struct budget *budget, const struct measured *measured)
{
	char now[PAGE_VALUE], limit[PAGE_VALUE], low[PAGE_VALUE], high[PAGE_VALUE], range[120] = "", figures[240];
	enum row_unit unit = measured->unit;
	if (measured->value.high > measured->value.low)
		snprintf(range, sizeof range, " (95 %%: %s to %s)", value_text(low, unit, measured->value.low),
			value_text(high, unit, measured->value.high));
	else if (measured->count > 1)
		snprintf(range, sizeof range, " (mean of %llu)", (unsigned long long)measured->count);
	snprintf(figures, sizeof figures, "%s%s%s", value_text(now, unit, measured->value.value),
		measured->is_share ? " of a step" : "", range);
	settle_budget(figure, budget, figures, value_text(limit, unit, budget->limit));
}

static void judge_relative(struct judgement *judgement, struct judged_figure *figure, const struct budget *budget,
	const struct measured *measured)
{
	struct measured baseline;
	char now[PAGE_VALUE], before[PAGE_VALUE], range[80] = "", figures[240], limit[PAGE_VALUE];
	if (!measure_budget(budget, judgement->baseline, &baseline) ||
		!measure_ratio(budget, judgement->now, judgement->baseline, &figure->change)) {
		judged_settle(figure, OUTCOME_INCONCLUSIVE, "cannot compare: %s of the baseline is unknown", budget->name);
		return;
	}
	figure->baseline = baseline.value.value;
	if (figure->change.high > figure->change.low)
		snprintf(range, sizeof range, " (95 %%: %.2f to %.2f)", figure->change.low, figure->change.high);
	snprintf(figures, sizeof figures, "%.2f times the baseline%s, %s against %s", figure->change.value, range,
		value_text(now, measured->unit, figure->now), value_text(before, baseline.unit, figure->baseline));
	snprintf(limit, sizeof limit, "%.2f", budget->limit);
	settle_budget(figure, budget, figures, limit);
}

/* Steps are too few in a short run; a single value is known or not. */
static bool is_of_steps(const struct judgement *judgement, const struct budget *budget)
{
	if (judgement->now->origin == ORIGIN_TRACE)
		return false;
	return budget->what < BUDGET_WHOLE ||
		(budget->what == BUDGET_NAMED && measure_named(budget, judgement->now).phase != NULL);
}

void judge_budget(struct judgement *judgement, const struct budget *budget)
{
	struct judged_figure *figure = judged_add(judgement, budget->name);
	struct measured measured;
	if (!figure)
		return;
	figure->is_budget = true;
	figure->is_min = budget->is_min;
	figure->unit = budget->unit;
	figure->limit = budget->limit;
	if (is_of_steps(judgement, budget) && judged_has_few(figure, judgement->now, "the run"))
		return;
	if (!measure_budget(budget, judgement->now, &measured)) {
		judged_settle(figure, OUTCOME_INCONCLUSIVE, "%s of the run is unknown%s", budget->name,
			judgement->now->origin == ORIGIN_REPORT ? ": a saved report has no steps, use a recording" : "");
		return;
	}
	figure->change = measured.value;
	figure->now = measured.value.value;
	if (budget->unit == LIMIT_TIMES)
		judge_relative(judgement, figure, budget, &measured);
	else
		judge_absolute(figure, budget, &measured);
}
