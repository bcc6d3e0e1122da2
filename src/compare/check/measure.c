#include "src/compare/check/measure.h"

#include <math.h>
#include <stdlib.h>

#include "src/compare/wholes.h"

struct named measure_named(const struct budget *budget, const struct summary *summary)
{
	struct named named = { .gauge = NAN };
	bool is_time = budget->unit == LIMIT_SECONDS || budget->unit == LIMIT_TIMES;
	if (is_time || budget->unit == LIMIT_RATIO)
		named.phase = summary_phase(summary, budget->name);
	if (is_time && !named.phase)
		named.operation = summary_operation(summary, budget->name, NULL);
	if (!named.phase && !named.operation)
		named.gauge = summary_gauge(summary, budget->name);
	return named;
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

/* A single reading has no interval. */
static bool put_value(struct measured *out, enum row_unit unit, double value)
{
	out->unit = unit;
	out->value = (struct interval){ value, value, value };
	return isfinite(value);
}

static bool measure_name(const struct budget *budget, const struct summary *summary, struct measured *out)
{
	struct named named = measure_named(budget, summary);
	if (named.phase && budget->unit == LIMIT_RATIO) {
		out->unit = ROW_RATIO;
		out->is_share = true;
		return share_of_phase(summary, named.phase, &out->value);
	}
	if (named.phase)
		return contrast_quantile(named.phase->seconds, summary->step_count, 0.5, &out->value);
	if (named.operation) {
		out->count = named.operation->count;
		return put_value(out, ROW_SECONDS, named.operation->mean_s);
	}
	static const enum row_unit units[] = { [LIMIT_SECONDS] = ROW_SECONDS,
		[LIMIT_BYTES] = ROW_BYTES,
		[LIMIT_RATIO] = ROW_RATIO,
		[LIMIT_NUMBER] = ROW_NUMBER,
		[LIMIT_JOULES] = ROW_JOULES,
		[LIMIT_TIMES] = ROW_NUMBER };
	return put_value(out, units[budget->unit], named.gauge);
}

bool measure_budget(const struct budget *budget, const struct summary *summary, struct measured *out)
{
	struct interval *value = &out->value;
	*out = (struct measured){ .value = { NAN, NAN, NAN }, .unit = ROW_SECONDS };
	if (summary->origin == ORIGIN_TRACE && budget->what < BUDGET_WHOLE) {
		/* A trace has too few steps for a median. */
		out->count = summary->operation_count ? summary->operations[0].count : 0;
		return put_value(out, ROW_SECONDS, budget->what == BUDGET_P95 ? NAN : summary->mean_s);
	}
	switch (budget->what) {
	case BUDGET_STEP:
		return contrast_quantile(summary->steps, summary->step_count, 0.5, value) && isfinite(value->value);
	case BUDGET_P95:
		return contrast_quantile(summary->steps, summary->step_count, 0.95, value) && isfinite(value->value);
	case BUDGET_MEAN: return contrast_mean(summary->steps, summary->step_count, value);
	case BUDGET_NAMED: return measure_name(budget, summary, out);
	case BUDGET_WHOLE: break;
	}
	double whole = whole_value(summary, budget->whole);
	/* A program may publish its loss as a gauge. */
	return put_value(out, budget->whole->unit, isnan(whole) ? summary_gauge(summary, budget->name) : whole);
}

/* Means of phases, because a phase may be missing in most steps; of steps as in the comparison. */
static bool contrast_budget(
	const struct budget *budget, const struct summary *now, const struct summary *baseline, struct interval *out)
{
	struct named a = measure_named(budget, baseline), b = measure_named(budget, now);
	struct contrast contrast;
	bool is_rough;
	switch (budget->what) {
	case BUDGET_STEP:
		if (!compare_steps(baseline, now, &contrast, &is_rough))
			return false;
		*out = contrast.ratio;
		return true;
	case BUDGET_MEAN:
		return contrast_mean_ratio(baseline->steps, baseline->step_count, now->steps, now->step_count, out);
	case BUDGET_WHOLE:
		return budget->whole->offset == offsetof(struct summary, request_p95_s) && compare_requests(baseline, now, out);
	case BUDGET_NAMED:
		if (a.phase && b.phase)
			return contrast_mean_ratio(a.phase->seconds, baseline->step_count, b.phase->seconds, now->step_count, out);
		return a.operation && b.operation && compare_operation(a.operation, b.operation, out);
	default: return false;
	}
}

bool measure_ratio(
	const struct budget *budget, const struct summary *now, const struct summary *baseline, struct interval *out)
{
	struct measured of_now, of_baseline;
	if (contrast_budget(budget, now, baseline, out))
		return true;
	if (!measure_budget(budget, now, &of_now) || !measure_budget(budget, baseline, &of_baseline))
		return false;
	double ratio = of_now.value.value / of_baseline.value.value;
	*out = (struct interval){ ratio, ratio, ratio };
	return isfinite(ratio);
}
