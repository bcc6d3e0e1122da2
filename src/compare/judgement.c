#include "src/compare/judgement.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/compare/check/judge_budget.h"
#include "src/compare/check/judge_rest.h"
#include "src/compare/check/judged.h"
#include "src/compare/page.h"

/* -- against the baseline -- */

/* The number of steps for which half the interval would be narrower than the threshold: its width is inversely
 * proportional to the root of their number. */
static double steps_needed(const struct judgement *judgement, const struct interval *ratio)
{
	double half = log(ratio->high / ratio->low) / 2, wanted = log(1 + judgement->threshold) / 2;
	size_t fewer = judgement->now->step_count < judgement->baseline->step_count ? judgement->now->step_count
																				: judgement->baseline->step_count;
	return ceil((double)fewer * half * half / (wanted * wanted) / 10) * 10;
}

static void judge_step(struct judgement *judgement)
{
	const struct summary *now = judgement->now, *baseline = judgement->baseline;
	struct judged_figure *figure = judged_add(judgement, "step");
	struct contrast contrast;
	bool is_rough;
	char of_now[PAGE_VALUE], of_baseline[PAGE_VALUE], figures[160];
	figure->now = now->median_s;
	figure->baseline = baseline->median_s;
	figure->limit = 1 + judgement->threshold;
	if (judged_has_few(figure, now, "the run") || judged_has_few(figure, baseline, "the baseline"))
		return;
	if (!compare_steps(baseline, now, &contrast, &is_rough)) {
		judged_settle(figure, OUTCOME_INCONCLUSIVE, "cannot compare: the baseline or the run has no step times");
		return;
	}
	const struct interval *ratio = &contrast.ratio;
	figure->change = *ratio;
	snprintf(figures, sizeof figures, "%.2f times the baseline (95 %%: %s%.2f to %.2f), %s against %s", ratio->value,
		is_rough ? "about " : "", ratio->low, ratio->high, page_value(of_now, ROW_SECONDS, now->median_s),
		page_value(of_baseline, ROW_SECONDS, baseline->median_s));
	if (ratio->low <= 1 && ratio->high > figure->limit)
		judged_settle(figure, OUTCOME_INCONCLUSIVE, "too noisy: %s; record about %.0f batches of each run", figures,
			steps_needed(judgement, ratio));
	else if (ratio->value > figure->limit)
		judged_settle(figure, OUTCOME_FAILED, "slower: %s; %.2f is allowed", figures, figure->limit);
	else
		judged_settle(figure, OUTCOME_PASSED, "%s; %.2f is allowed", figures, figure->limit);
}

/* -- differences between the baseline and the run -- */

static void warn_of_differences(struct judgement *judgement)
{
	const struct summary *now = judgement->now, *baseline = judgement->baseline;
	if (baseline->origin == ORIGIN_REPORT)
		judged_warn(judgement,
			"the baseline is a saved report: it has quantiles and no steps, so the interval is rough; pmtop check "
			"--save makes a better one");
	if (now->host[0] && baseline->host[0] && strcmp(now->host, baseline->host) != 0)
		judged_warn(judgement, "the baseline is of another machine: %.63s, this is %.63s", baseline->host, now->host);
	if (isfinite(now->cpus) && isfinite(baseline->cpus) && fabs(now->cpus - baseline->cpus) > 0.5)
		judged_warn(judgement, "the baseline is of a machine with %.0f CPUs, this has %.0f", baseline->cpus, now->cpus);
	if (isfinite(now->batch_size) && isfinite(baseline->batch_size) &&
		fabs(now->batch_size - baseline->batch_size) > 0.5)
		judged_warn(judgement, "the baseline is of batch size %.0f, this run of %.0f: a step is not the same work",
			baseline->batch_size, now->batch_size);
	for (size_t i = 0; i < judgement->comparison.meta_count; i++)
		if (strcmp(judgement->comparison.meta[i].key, "batch_size") != 0)
			judged_warn(judgement, "%.60s: the baseline has %.60s, this run %.60s", judgement->comparison.meta[i].key,
				judgement->comparison.meta[i].a ? judgement->comparison.meta[i].a : "none",
				judgement->comparison.meta[i].b ? judgement->comparison.meta[i].b : "none");
	/* The median step does not show rare, very long steps. */
	const struct comparison_row *rate = NULL;
	for (size_t i = 0; i < judgement->comparison.row_count && !rate; i++)
		rate = judgement->comparison.rows[i].unit == ROW_PER_SECOND ? &judgement->comparison.rows[i] : NULL;
	if (rate && rate->has_interval && rate->high < 1 && rate->change * (1 + judgement->threshold) < 1 &&
		judgement->figures[0].outcome == OUTCOME_PASSED)
		judged_warn(judgement,
			"%s fell to %.2f times, but the median step slowed down less: find rare long steps (not judged; "
			"--budget=mean:… judges them)",
			rate->what, rate->change);
	if (now->lost_events)
		judged_warn(judgement, "%llu events of the run were lost: some of its steps are missing",
			(unsigned long long)now->lost_events);
}

void judge(const struct summary *now, const struct summary *baseline, double threshold,
	const struct budget_list *budgets, struct judgement *out)
{
	*out = (struct judgement){
		.now = now, .baseline = baseline, .threshold = threshold > 0 ? threshold : THRESHOLD_DEFAULT
	};
	if (baseline) {
		compare(baseline, now, &out->comparison);
		if (now->seen || baseline->seen || !(summary_has_content(now) && summary_has_content(baseline)))
			judge_step(out);
		judge_requests(out);
		judge_operations(out);
		warn_of_differences(out);
		judge_warn_of_rest(out, budgets);
		if (!out->count && !budgets->count)
			judged_settle(judged_add(out, "operations"), OUTCOME_INCONCLUSIVE,
				"cannot compare: the baseline and the run have no operation in common");
	}
	for (size_t i = 0; i < budgets->count; i++)
		judge_budget(out, &budgets->budgets[i]);
	for (size_t i = 0; i < out->count; i++)
		if (out->figures[i].outcome == OUTCOME_FAILED || out->outcome == OUTCOME_PASSED)
			out->outcome = out->figures[i].outcome == OUTCOME_PASSED ? out->outcome : out->figures[i].outcome;
}
