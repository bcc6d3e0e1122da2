#include "src/compare/check/judge_rest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/compare/check/judged.h"
#include "src/compare/page.h"
#include "src/compare/wholes.h"

/* In runs without steps, operations below this share of the longest total are not judged: they matter to nobody, and a
 * single time of them is noise. A trace has many; its longest is the step. */
static const double negligible_share = 0.01, negligible_in_trace = 0.05;
/* Of a step. */
static const double noticeable_share = 0.05;

/* `times`: "12.1 s against 7.96 s". */
static void judge_ratio(struct judgement *judgement, struct judged_figure *figure, bool has_interval, const char *times)
{
	const struct interval *ratio = &figure->change;
	char range[80] = "";
	figure->limit = 1 + judgement->threshold;
	if (has_interval)
		snprintf(range, sizeof range, " (95 %%: about %.2f to %.2f)", ratio->low, ratio->high);
	if (has_interval && ratio->low <= 1 && ratio->high > figure->limit)
		judged_settle(figure, OUTCOME_INCONCLUSIVE, "too noisy: %.2f times the baseline%s, %s; measure longer",
			ratio->value, range, times);
	else
		judged_settle(figure, ratio->value > figure->limit ? OUTCOME_FAILED : OUTCOME_PASSED,
			"%s%.2f times the baseline%s, %s; %.2f is allowed", ratio->value > figure->limit ? "slower: " : "",
			ratio->value, range, times, figure->limit);
}

static void judge_operation(struct judgement *judgement, const struct summary_operation *before,
	const struct summary_operation *now, const struct interval *ratio)
{
	char name[2 * SUMMARY_NAME + 8], of_now[PAGE_VALUE], of_before[PAGE_VALUE], times[160];
	snprintf(name, sizeof name, "%s%s%s", now->parent, now->parent[0] ? " › " : "", now->name);
	struct judged_figure *figure = judged_add(judgement, name);
	if (!figure)
		return;
	bool has_interval = ratio != NULL, is_repeated = before->count > 1 || now->count > 1;
	figure->baseline = has_interval ? before->p50_s : before->mean_s;
	figure->now = has_interval ? now->p50_s : now->mean_s;
	figure->change = (struct interval){ figure->now / figure->baseline, NAN, NAN };
	if (ratio)
		figure->change = *ratio;
	size_t used = (size_t)snprintf(times, sizeof times, "%s against %s", page_value(of_now, ROW_SECONDS, figure->now),
		page_value(of_before, ROW_SECONDS, figure->baseline));
	if (!has_interval && is_repeated && used < sizeof times)
		snprintf(times + used, sizeof times - used, " (means of %llu and %llu)", (unsigned long long)now->count,
			(unsigned long long)before->count);
	judge_ratio(judgement, figure, has_interval, times);
}

static double longest_total(const struct summary *summary)
{
	double max = 0;
	for (size_t i = 0; i < summary->operation_count; i++)
		max = fmax(max, summary->operations[i].total_s);
	return max;
}

/* Steps contain all others. Beside steps, an operation needs an interval: a checkpoint may take any time once. */
void judge_operations(struct judgement *judgement)
{
	const struct summary *now = judgement->now, *baseline = judgement->baseline;
	bool has_steps = now->seen || baseline->seen;
	double min_s = (now->origin == ORIGIN_TRACE ? negligible_in_trace : negligible_share) * longest_total(baseline);
	for (size_t i = 0; i < baseline->operation_count; i++) {
		const struct summary_operation *before = &baseline->operations[i],
									   *after = summary_operation(now, before->name, before->parent);
		struct interval ratio;
		bool has_interval = after && compare_operation(before, after, &ratio);
		if (!after && !has_steps && before->total_s >= min_s)
			judged_warn(judgement, "%.60s of the baseline is missing in this run", before->name);
		if (!after || (has_steps ? !has_interval || isfinite(before->share_ratio) : before->total_s < min_s))
			continue;
		if (isfinite(before->mean_s) && before->mean_s > 0)
			judge_operation(judgement, before, after, has_interval ? &ratio : NULL);
	}
}

void judge_requests(struct judgement *judgement)
{
	const struct summary *now = judgement->now, *baseline = judgement->baseline;
	struct interval ratio;
	char of_now[PAGE_VALUE], of_before[PAGE_VALUE], times[160];
	if (!(baseline->requests > 0))
		return;
	struct judged_figure *figure = judged_add(judgement, "request-p95");
	if (!figure)
		return;
	figure->now = now->request_p95_s;
	figure->baseline = baseline->request_p95_s;
	if (!compare_requests(baseline, now, &ratio)) {
		figure->limit = 1 + judgement->threshold;
		judged_settle(figure, OUTCOME_INCONCLUSIVE,
			"too few requests: the run has %.0f and the baseline %.0f, %d are required",
			isfinite(now->requests) ? now->requests : 0, baseline->requests, CONTRAST_MIN);
		return;
	}
	figure->change = ratio;
	snprintf(times, sizeof times, "%s against %s", page_value(of_now, ROW_SECONDS, figure->now),
		page_value(of_before, ROW_SECONDS, figure->baseline));
	judge_ratio(judgement, figure, true, times);
}

/* -- not judged -- */

static bool is_in_budget(const struct budget_list *budgets, const char *name)
{
	for (size_t i = 0; i < budgets->count; i++)
		if (strcmp(budgets->budgets[i].name, name) == 0)
			return true;
	return false;
}

static void warn_of(struct judgement *judgement, const char *what, const char *word, enum row_unit unit, bool is_min,
	const double values[2])
{
	char now[PAGE_VALUE], before[PAGE_VALUE];
	judged_warn(judgement, "%.60s: %s, the baseline has %s (not judged; --budget=%.60s:%s%.3gx judges it)", what,
		page_value(now, unit, values[1]), page_value(before, unit, values[0]), word, is_min ? "min=" : "",
		is_min ? 1 / (1 + judgement->threshold) : 1 + judgement->threshold);
}

/* A phase that takes a noticeable part of a step, although the step itself is not slower: another became faster. If the
 * step is slower, the phases that explain it are listed. */
static void warn_of_phases(struct judgement *judgement, const struct budget_list *budgets)
{
	double limit = 1 + judgement->threshold, min_s = noticeable_share * judgement->now->middle_s;
	if (!judgement->count || judgement->figures[0].outcome == OUTCOME_FAILED)
		return;
	for (size_t i = 0; i < judgement->comparison.row_count; i++) {
		const struct comparison_row *row = &judgement->comparison.rows[i];
		double values[] = { row->a, row->b };
		if (row->group == ROW_PHASE && row->verdict == VERDICT_SLOWER && row->a > 0 && row->b > limit * row->a &&
			row->b >= min_s && !is_in_budget(budgets, row->what))
			warn_of(judgement, row->what, row->what, ROW_SECONDS, false, values);
	}
}

/* Growth is left out: the rules judge it, and its ratio says little. */
void judge_warn_of_rest(struct judgement *judgement, const struct budget_list *budgets)
{
	const struct summary *now = judgement->now, *baseline = judgement->baseline;
	double limit = 1 + judgement->threshold;
	for (size_t i = 0; i < whole_figure_count; i++) {
		const struct whole_figure *figure = &whole_figures[i];
		double values[] = { whole_value(baseline, figure), whole_value(now, figure) }, ratio = values[1] / values[0];
		bool is_worse = figure->more_is_better ? ratio < 1 / limit : ratio > limit;
		if (!(values[0] > 0) || !isfinite(ratio) || !is_worse || is_in_budget(budgets, figure->word))
			continue;
		if ((figure->group == ROW_STEP && figure->unit != ROW_NUMBER) || figure->group == ROW_REQUEST ||
			figure->offset == offsetof(struct summary, growth_bytes))
			continue;
		warn_of(judgement, figure->what, figure->word, figure->unit, figure->more_is_better, values);
	}
	warn_of_phases(judgement, budgets);
	for (size_t i = 0; i < baseline->gauge_count; i++) {
		const char *name = baseline->gauges[i].name;
		double values[] = { baseline->gauges[i].last, summary_gauge(now, name) }, ratio = values[1] / values[0];
		bool is_loss = gauge_is_loss(name), is_worse = is_loss ? ratio > limit : ratio < 1 / limit;
		if (values[0] > 0 && isfinite(ratio) && is_worse && !whole_has_gauge(name) && !is_in_budget(budgets, name))
			warn_of(judgement, name, name, ROW_NUMBER, !is_loss, values);
	}
}
