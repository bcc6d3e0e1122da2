#include "src/compare/judgement.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/compare/page.h"

static struct judged_figure *add_figure(struct judgement *judgement, const char *name)
{
	struct judged_figure *figure = &judgement->figures[judgement->count++];
	*figure = (struct judged_figure){
		.outcome = OUTCOME_PASSED, .now = NAN, .baseline = NAN, .limit = NAN, .change = { NAN, NAN, NAN }
	};
	snprintf(figure->name, sizeof figure->name, "%s", name);
	return figure;
}

static void settle(struct judged_figure *figure, enum outcome outcome, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void settle(struct judged_figure *figure, enum outcome outcome, const char *format, ...)
{
	va_list arguments;
	figure->outcome = outcome;
	va_start(arguments, format);
	vsnprintf(figure->text, sizeof figure->text, format, arguments);
	va_end(arguments);
}

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

static bool has_few(struct judged_figure *figure, const struct summary *of, const char *whose)
{
	if (of->seen >= CONTRAST_MIN)
		return false;
	settle(figure, OUTCOME_INCONCLUSIVE, "too few batches: %s has %llu after %llu of warm-up, %d are required", whose,
		(unsigned long long)of->seen, (unsigned long long)of->warmup, CONTRAST_MIN);
	return true;
}

static void judge_step(struct judgement *judgement)
{
	const struct summary *now = judgement->now, *baseline = judgement->baseline;
	struct judged_figure *figure = add_figure(judgement, "step");
	struct contrast contrast;
	bool is_rough;
	char of_now[PAGE_VALUE], of_baseline[PAGE_VALUE], figures[160];
	figure->now = now->median_s;
	figure->baseline = baseline->median_s;
	figure->limit = 1 + judgement->threshold;
	if (has_few(figure, now, "the run") || has_few(figure, baseline, "the baseline"))
		return;
	if (!compare_steps(baseline, now, &contrast, &is_rough)) {
		settle(figure, OUTCOME_INCONCLUSIVE, "cannot compare: the baseline or the run has no step times");
		return;
	}
	const struct interval *ratio = &contrast.ratio;
	figure->change = *ratio;
	snprintf(figures, sizeof figures, "%.2f times the baseline (95 %%: %s%.2f to %.2f), %s against %s", ratio->value,
		is_rough ? "about " : "", ratio->low, ratio->high, page_value(of_now, ROW_SECONDS, now->median_s),
		page_value(of_baseline, ROW_SECONDS, baseline->median_s));
	if (ratio->low <= 1 && ratio->high > figure->limit)
		settle(figure, OUTCOME_INCONCLUSIVE, "too noisy: %s; record about %.0f batches of each run", figures,
			steps_needed(judgement, ratio));
	else if (ratio->value > figure->limit)
		settle(figure, OUTCOME_FAILED, "slower: %s; %.2f is allowed", figures, figure->limit);
	else
		settle(figure, OUTCOME_PASSED, "%s; %.2f is allowed", figures, figure->limit);
}

/* -- budgets -- */

static const char *limit_text(char out[PAGE_VALUE], enum budget_unit unit, double value)
{
	char number[NUMBER_SIZE];
	if (unit == LIMIT_RATIO)
		snprintf(out, PAGE_VALUE, value < 0.00995 ? "%.2f %%" : "%.1f %%", value * 100);
	else if (unit == LIMIT_BYTES)
		snprintf(out, PAGE_VALUE, "%s", format_bytes(number, value));
	else
		snprintf(out, PAGE_VALUE, "%s", format_seconds(number, value));
	return out;
}

/* The phase's share of the retained steps' total time. */
static bool share_of_phase(const struct summary *summary, const struct summary_phase *phase, struct interval *out)
{
	double mean_s = 0, *values = malloc((summary->step_count + 1) * sizeof *values);
	if (!values)
		return false;
	for (size_t i = 0; i < summary->step_count; i++)
		mean_s += summary->steps[i] / (double)summary->step_count;
	/* The interval of a ratio of sums by linearisation: of each step, the phase's time minus the mean share. */
	double share = 0;
	for (size_t i = 0; i < summary->step_count; i++)
		share += phase->seconds[i] / mean_s / (double)summary->step_count;
	for (size_t i = 0; i < summary->step_count; i++)
		values[i] = share + (phase->seconds[i] - share * summary->steps[i]) / mean_s;
	bool is_there = contrast_mean(values, summary->step_count, out);
	free(values);
	return is_there;
}

static bool measure(const struct summary *summary, const struct budget *budget, struct interval *out)
{
	const struct summary_phase *phase = budget->what == BUDGET_PHASE ? summary_phase(summary, budget->name) : NULL;
	double value = NAN;
	*out = (struct interval){ NAN, NAN, NAN };
	switch (budget->what) {
	case BUDGET_STEP: return contrast_quantile(summary->steps, summary->step_count, 0.5, out) && isfinite(out->value);
	case BUDGET_P95: return contrast_quantile(summary->steps, summary->step_count, 0.95, out) && isfinite(out->value);
	case BUDGET_MEAN: return contrast_mean(summary->steps, summary->step_count, out);
	case BUDGET_PHASE:
		return budget->unit == LIMIT_RATIO ? share_of_phase(summary, phase, out)
										   : contrast_quantile(phase->seconds, summary->step_count, 0.5, out);
	case BUDGET_MEMORY: value = summary->peak_bytes; break;
	case BUDGET_GROWTH: value = summary->growth_bytes; break;
	case BUDGET_GPU_MEMORY: value = summary->gpu_peak_bytes; break;
	}
	/* A single reading has no interval. */
	*out = (struct interval){ value, value, value };
	return isfinite(value);
}

static void judge_budget(struct judgement *judgement, const struct budget *budget)
{
	struct judged_figure *figure = add_figure(judgement, budget->name);
	char now[PAGE_VALUE], limit[PAGE_VALUE], low[PAGE_VALUE], high[PAGE_VALUE], range[120] = "";
	bool is_of_steps = budget->unit != LIMIT_BYTES;
	figure->is_budget = true;
	figure->unit = budget->unit;
	figure->limit = budget->limit;
	if (is_of_steps && has_few(figure, judgement->now, "the run"))
		return;
	if (!measure(judgement->now, budget, &figure->change)) {
		settle(figure, OUTCOME_INCONCLUSIVE, "%s of the run is unknown%s", budget->name,
			judgement->now->origin == ORIGIN_REPORT ? ": a saved report has no steps, use a recording" : "");
		return;
	}
	figure->now = figure->change.value;
	if (figure->change.high > figure->change.low)
		snprintf(range, sizeof range, " (95 %%: %s to %s)", limit_text(low, budget->unit, figure->change.low),
			limit_text(high, budget->unit, figure->change.high));
	limit_text(now, budget->unit, figure->now);
	limit_text(limit, budget->unit, budget->limit);
	const char *what = budget->unit == LIMIT_RATIO ? " of a step" : "";
	if (figure->now > budget->limit && figure->change.low > budget->limit)
		settle(figure, OUTCOME_FAILED, "over its budget: %s%s%s; %s is allowed", now, what, range, limit);
	else
		settle(figure, OUTCOME_PASSED, "%s%s%s; %s is allowed%s", now, what, range, limit,
			figure->now > budget->limit ? ", but the excess is within noise" : "");
}

/* -- differences between the baseline and the run -- */

static void warn(struct judgement *judgement, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn(struct judgement *judgement, const char *format, ...)
{
	if (judgement->warning_count == WARNINGS_MAX)
		return;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(judgement->warnings[judgement->warning_count++], sizeof judgement->warnings[0], format, arguments);
	va_end(arguments);
}

static void warn_of_differences(struct judgement *judgement)
{
	const struct summary *now = judgement->now, *baseline = judgement->baseline;
	if (baseline->origin == ORIGIN_REPORT)
		warn(judgement,
			"the baseline is a saved report: it has quantiles and no steps, so the interval is rough; pmtop check "
			"--save makes a better one");
	if (now->host[0] && baseline->host[0] && strcmp(now->host, baseline->host) != 0)
		warn(judgement, "the baseline is of another machine: %.63s, this is %.63s", baseline->host, now->host);
	if (isfinite(now->cpus) && isfinite(baseline->cpus) && fabs(now->cpus - baseline->cpus) > 0.5)
		warn(judgement, "the baseline is of a machine with %.0f CPUs, this has %.0f", baseline->cpus, now->cpus);
	if (isfinite(now->batch_size) && isfinite(baseline->batch_size) &&
		fabs(now->batch_size - baseline->batch_size) > 0.5)
		warn(judgement, "the baseline is of batch size %.0f, this run of %.0f: a step is not the same work",
			baseline->batch_size, now->batch_size);
	for (size_t i = 0; i < judgement->comparison.meta_count; i++)
		if (strcmp(judgement->comparison.meta[i].key, "batch_size") != 0)
			warn(judgement, "%.60s: the baseline has %.60s, this run %.60s", judgement->comparison.meta[i].key,
				judgement->comparison.meta[i].a ? judgement->comparison.meta[i].a : "none",
				judgement->comparison.meta[i].b ? judgement->comparison.meta[i].b : "none");
	/* The median step does not show rare, very long steps. */
	const struct comparison_row *rate = NULL;
	for (size_t i = 0; i < judgement->comparison.row_count && !rate; i++)
		rate = judgement->comparison.rows[i].unit == ROW_PER_SECOND ? &judgement->comparison.rows[i] : NULL;
	if (rate && rate->has_interval && rate->high < 1 && rate->change * (1 + judgement->threshold) < 1 &&
		judgement->figures[0].outcome == OUTCOME_PASSED)
		warn(judgement,
			"%s fell to %.2f times, but the median step slowed down less: find rare long steps (not judged; "
			"--budget=mean:… judges them)",
			rate->what, rate->change);
	if (now->lost_events)
		warn(judgement, "%llu events of the run were lost: some of its steps are missing",
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
		judge_step(out);
		warn_of_differences(out);
	}
	for (size_t i = 0; i < budgets->count; i++)
		judge_budget(out, &budgets->budgets[i]);
	for (size_t i = 0; i < out->count; i++)
		if (out->figures[i].outcome == OUTCOME_FAILED || out->outcome == OUTCOME_PASSED)
			out->outcome = out->figures[i].outcome == OUTCOME_PASSED ? out->outcome : out->figures[i].outcome;
}
