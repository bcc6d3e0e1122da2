/* Every k-th batch slightly slower, too little for each to stand out: folds the scores of all steps by k. Long periods
 * are expensive and tried in turn, in TURNS searches. */
#include "src/explain/patterns/patterns_mild.h"

#include <math.h>
#include <string.h>

#include "src/explain/patterns/patterns_private.h"
#include "src/explain/patterns/patterns_steps.h"
#include "src/model/statistics/significance.h"
#include "src/model/statistics/statistics.h"

enum { MILD_PERIOD_MAX = 1024, ALWAYS_MAX = 16, TURNS = 16, FOLDED_MAX = 64, MEMBERS_MIN = 8 };
/* In standard deviations of a sum of members. High, because half a million sums are tried. */
#define FOLD_Z_MIN 7.0
/* Members compared with their neighbours: slow fluctuations raise both. */
#define PAIRS_Z_MIN 4.0
#define PAIRS_RATIO 0.75
#define MILD_RATIO 0.05

struct fold {
	enum clock_kind clock;
	uint32_t period, remainder, from;
	double z;
};

#define KNOWN_Z_MIN 5.0

static void fold_clock(
	const struct steps *steps, const float *scores, enum clock_kind clock, uint32_t from, uint32_t period, float *sums)
{
	if (clock == CLOCK_RUN) {
		fold_into(scores + from, steps->position_end - from, from, period, sums);
		return;
	}
	for (size_t i = 0; i < steps->epoch_count; i++) {
		const struct span_of_epoch *epoch = &steps->epochs[i];
		uint32_t first = epoch->first_position > from ? epoch->first_position : from;
		if (epoch->last_position >= first)
			fold_into(scores + first, epoch->last_position - first + 1,
				epoch->first_index + (first - epoch->first_position), period, sums);
	}
}

static void try_period(
	const struct steps *steps, const float *scores, enum clock_kind clock, uint32_t period, struct fold *best)
{
	float sums[MILD_PERIOD_MAX];
	uint32_t max = period * FOLDED_MAX, from = steps->position_end > max ? steps->position_end - max : 0;
	double members = (double)(steps->position_end - from) / period;
	/* In epochs of few periods some remainders occur more often than others. */
	if (members < MEMBERS_MIN || (clock == CLOCK_EPOCH && 2 * period > steps->position_end / steps->epoch_count))
		return;
	memset(sums, 0, period * sizeof *sums);
	fold_clock(steps, scores, clock, from, period, sums);
	uint32_t top = 0;
	for (uint32_t i = 1; i < period; i++)
		top = sums[i] > sums[top] ? i : top;
	double z = (double)sums[top] / sqrt(members) + (steps_knew(steps, period) ? FOLD_Z_MIN - KNOWN_Z_MIN : 0);
	if (z > best->z)
		*best = (struct fold){ clock, period, top, from, z };
}

static void mark_members(struct steps *steps, const struct fold *fold)
{
	for (size_t row = 0; row < steps->count; row++)
		steps->is_member[row] = steps->position[row] >= fold->from && !steps->is_taken[row] &&
			steps_remainder(steps, fold->clock, fold->period, row) == fold->remainder;
}

/* Whether the marked members are slower than their neighbours. */
static bool measure(const struct steps *steps, const struct fold *fold, struct pattern *out)
{
	double these[STEPS_MAX], others[STEPS_MAX], excess[STEPS_MAX];
	size_t count = 0, above = 0;
	*out = (struct pattern){ .kind = PATTERN_PERIOD,
		.unit = PATTERN_BATCHES,
		.period = fold->period,
		.is_by_index = fold->clock == CLOCK_EPOCH };
	for (size_t row = 0; row < steps->count; row++) {
		double batch_window = steps->is_member[row] ? steps_near(steps, row) : NAN;
		if (isnan(batch_window))
			continue;
		these[count] = steps->step_s[row];
		others[count] = batch_window;
		excess[count] = steps->step_s[row] / batch_window - 1;
		above += excess[count] > 0;
		out->last = steps->batches[row]->ordinal;
		out->first = count == 0 ? out->last : out->first;
		count++;
	}
	out->count = above;
	out->of = count;
	double members = (double)count;
	if (count < MEMBERS_MIN || (double)above < PAIRS_RATIO * members ||
		(2 * (double)above - members) / sqrt(members) < fmin(PAIRS_Z_MIN, sqrt(members)))
		return false;
	out->after_s = median_of(these, count);
	out->before_s = median_of(others, count);
	return median_of(excess, count) >= MILD_RATIO;
}

/* Whether most of the newest members are slower too. */
static bool goes_on(const struct steps *steps)
{
	size_t seen = 0, above = 0;
	for (size_t row = steps->count; row-- > 0 && seen < MEMBERS_MIN;) {
		if (!steps->is_member[row])
			continue;
		seen++;
		above += steps->step_s[row] > steps_near(steps, row);
	}
	return above * 2 > seen;
}

static void spread_scores(const struct steps *steps, float *scores)
{
	memset(scores, 0, steps->position_end * sizeof *scores);
	for (size_t row = 0; row < steps->count; row++)
		scores[steps->position[row]] = steps->scores[row];
}

bool find_mild(struct steps *steps, struct pattern *out)
{
	const struct patterns *before = steps->before;
	float scores[STEPS_MAX];
	struct fold best = { .z = FOLD_Z_MIN };
	uint32_t max =
		steps->position_end / MEMBERS_MIN < MILD_PERIOD_MAX ? steps->position_end / MEMBERS_MIN : MILD_PERIOD_MAX;
	spread_scores(steps, scores);
	for (unsigned clock = CLOCK_RUN; clock < (steps->restarts ? CLOCKS : CLOCK_EPOCH); clock++) {
		for (uint32_t period = 2; period <= max; period = period < ALWAYS_MAX ? period + 1
				 : period == ALWAYS_MAX                                       ? period + 1 + before->searches % TURNS
																			  : period + TURNS)
			try_period(steps, scores, clock, period, &best);
		for (size_t i = 0; i < before->count; i++)
			if (before->list[i].kind == PATTERN_PERIOD && before->list[i].unit == PATTERN_BATCHES &&
				before->list[i].period >= 2 && before->list[i].period <= max)
				try_period(steps, scores, clock, (uint32_t)before->list[i].period, &best);
	}
	if (best.period == 0)
		return false;
	best.period = steps_part(steps, best.clock, best.period, best.remainder, best.from);
	best.remainder %= best.period;
	uint32_t from = best.from;
	best.from = 0;
	mark_members(steps, &best);
	/* Try all retained steps, then only the newest. */
	if (measure(steps, &best, out) && goes_on(steps))
		return true;
	best.from = from;
	mark_members(steps, &best);
	if (measure(steps, &best, out) && goes_on(steps))
		return true;
	memset(steps->is_member, 0, sizeof steps->is_member);
	return false;
}
