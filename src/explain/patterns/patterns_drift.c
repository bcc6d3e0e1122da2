/* Steps slower since a batch, or gradually slower: compares each step with the median of its kind and size by rank, and
 * excludes slowdowns that recur at the same position of each epoch. */
#include "src/explain/patterns/patterns_drift.h"

#include <math.h>

#include "src/explain/patterns/patterns_cause.h"
#include "src/explain/patterns/patterns_private.h"
#include "src/model/statistics/significance.h"
#include "src/model/statistics/statistics.h"

enum {
	SIDE_MIN = 50,
	WINDOW_MIN = 2 * SIDE_MIN,
	BLOCKS_MAX = 256,
	CALM_BLOCK = 10,
	SIZES = 8,
	CLASS_MIN = 8,
	CREEP_MIN = 400,
	CREEP_POINTS = 64,
	SAME_POSITION_MIN = 20,
	HISTORY_BLOCKS = 64,
	CALM_BLOCKS = 16,
	REFINEMENTS = 3,
	AFTER_MIN_OF = 8,
	AFTER_MIN_MAX = 150
};
#define DRIFT_RATIO 0.1
#define DRIFT_DEVIATIONS 3
/* Minimum length of the time before and after. If one is shorter, the required growth rises in proportion: step times
 * fluctuate within seconds. */
#define DRIFT_MIN_S 2.0
#define DRIFT_P_MAX 1e-7
#define SIZES_DIFFER 1.05
/* No drift if steps were as slow before: HISTORY_RATIO of the growth must lie above this quantile of the earlier
 * medians. */
#define HISTORY_QUANTILE 0.9
#define HISTORY_RATIO 0.3
#define THROUGHOUT_RATIO 0.9
/* Gradual drift: each quarter adds at least this share of the total growth. */
#define CREEP_QUARTER_RATIO 0.15
#define MAD_TO_DEVIATION 1.4826

/* Rows, each with its step relative to the median of its kind and size. */
struct relative {
	size_t count;
	uint16_t rows[STEPS_MAX];
	double values[STEPS_MAX];
};

/* -- normalize by kind and size -- */

struct sizes {
	double min, max;
};

static struct sizes sizes_of(const struct steps *steps)
{
	struct sizes sizes = { INFINITY, -INFINITY };
	for (size_t row = 0; row < steps->count; row++) {
		sizes.min = fmin(sizes.min, steps->batches[row]->samples);
		sizes.max = fmax(sizes.max, steps->batches[row]->samples);
	}
	return sizes;
}

static unsigned class_of(const struct steps *steps, const struct sizes *sizes, size_t row)
{
	double samples = steps->batches[row]->samples;
	unsigned size = 0;
	if (isfinite(samples) && sizes->max > SIZES_DIFFER * sizes->min)
		size = (unsigned)((samples - sizes->min) / (sizes->max - sizes->min) * (SIZES - 1) + 0.5);
	return steps->kind[row] * SIZES + size;
}

static void make_relative(const struct steps *steps, struct relative *out)
{
	uint8_t classes[STEPS_MAX];
	double values[STEPS_MAX], baseline[RUN_KINDS_MAX * SIZES];
	struct sizes sizes = sizes_of(steps);
	size_t counts[RUN_KINDS_MAX * SIZES] = { 0 };
	for (size_t row = 0; row < steps->count; row++) {
		classes[row] = (uint8_t)class_of(steps, &sizes, row);
		counts[classes[row]] += !steps->is_taken[row];
	}
	for (unsigned class = 0; class < RUN_KINDS_MAX * SIZES; class ++) {
		size_t count = 0;
		baseline[class] = NAN;
		if (counts[class] < CLASS_MIN)
			continue;
		for (size_t row = 0; row < steps->count; row++)
			if (classes[row] == class && !steps->is_taken[row])
				values[count++] = steps->step_s[row];
		baseline[class] = median_of(values, count);
	}
	out->count = 0;
	for (size_t row = 0; row < steps->count; row++) {
		if (steps->is_taken[row] || isnan(baseline[classes[row]]))
			continue;
		out->rows[out->count] = (uint16_t)row;
		out->values[out->count++] = steps->step_s[row] / baseline[classes[row]];
	}
}

/* -- medians of ranges -- */

static double median_between(const struct relative *all, size_t from, size_t to)
{
	double values[STEPS_MAX];
	for (size_t i = from; i < to; i++)
		values[i - from] = all->values[i];
	return median_of(values, to - from);
}

/* Medians of consecutive blocks, at most `max`. Returns their number. */
static size_t medians_of_blocks(
	const struct relative *all, size_t from, size_t to, size_t block, double *out, size_t max)
{
	size_t count = 0;
	for (; count < max && block > 0 && from + block <= to; from += block)
		out[count++] = median_between(all, from, from + block);
	return count;
}

/* Deviation of the medians of blocks of at least ten steps, so that slow fluctuations count too. */
static double deviation_of_blocks(const struct relative *all, size_t from, size_t to, double median)
{
	double blocks[STEPS_MAX / CALM_BLOCK + 1];
	size_t block = (to - from) / CALM_BLOCKS > CALM_BLOCK ? (to - from) / CALM_BLOCKS : CALM_BLOCK;
	size_t count = medians_of_blocks(all, from, to, block, blocks, sizeof blocks / sizeof *blocks);
	return MAD_TO_DEVIATION * mad_of(blocks, count, median);
}

/* -- positions in the epoch -- */

/* Whether batches at the same positions of earlier epochs, before the change, were as slow: then the position in the
 * epoch is the reason. */
static bool is_by_position(const struct steps *steps, const struct relative *all, size_t at, double halfway)
{
	double values[STEPS_MAX];
	size_t count = 0;
	uint64_t min = UINT64_MAX, max = 0;
	uint32_t epoch = steps->batches[all->rows[all->count - 1]]->epoch_ordinal;
	for (size_t i = at; i < all->count; i++) {
		const struct batch *batch = steps->batches[all->rows[i]];
		if (batch->epoch_ordinal != epoch)
			return false;
		min = batch->index < min ? batch->index : min;
		max = batch->index > max ? batch->index : max;
	}
	for (size_t i = 0; i < at; i++) {
		const struct batch *batch = steps->batches[all->rows[i]];
		if (batch->epoch_ordinal != epoch && batch->index >= min && batch->index <= max)
			values[count++] = all->values[i];
	}
	return count >= SAME_POSITION_MIN && median_of(values, count) > halfway;
}

/* -- history -- */

static bool was_as_slow_before(const struct relative *all, size_t at, double after, double grown)
{
	double blocks[STEPS_MAX / CALM_BLOCK + 1];
	size_t block = at / HISTORY_BLOCKS > CALM_BLOCK ? at / HISTORY_BLOCKS : CALM_BLOCK;
	size_t count = medians_of_blocks(all, 0, at, block, blocks, sizeof blocks / sizeof *blocks);
	return after - quantile_of(blocks, count, HISTORY_QUANTILE) < HISTORY_RATIO * grown;
}

/* Minimum number of steps after the change. It grows with the number before, since a longer history has more chances of
 * a temporary burst. */
static size_t after_min(size_t before)
{
	size_t min = before / AFTER_MIN_OF;
	return min < SIDE_MIN ? SIDE_MIN : min > AFTER_MIN_MAX ? AFTER_MIN_MAX : min;
}

/* -- the change -- */

/* Nearly all blocks are slower, not only a few bursts. */
static bool is_slower_throughout(const struct relative *all, size_t from, double halfway)
{
	double blocks[STEPS_MAX / CALM_BLOCK + 1];
	size_t length = all->count - from, block = length / CALM_BLOCKS > CALM_BLOCK ? length / CALM_BLOCKS : CALM_BLOCK,
		   slower = 0;
	size_t count = medians_of_blocks(all, from, all->count, block, blocks, sizeof blocks / sizeof *blocks);
	for (size_t i = 0; i < count; i++)
		slower += blocks[i] > halfway;
	return (double)slower >= THROUGHOUT_RATIO * (double)count;
}

struct drift {
	size_t from, to, at; /* before: from … to; after: at … the newest */
	double before, after;
	bool is_creeping;
};

static void set_medians(const struct relative *all, struct drift *drift)
{
	drift->before = median_between(all, drift->from, drift->to);
	drift->after = median_between(all, drift->at, all->count);
}

/* Moves the change to the step that minimizes the sum of distances to both medians, then updates the medians. */
static void refine(const struct relative *all, struct drift *drift)
{
	for (unsigned round = 0; round < REFINEMENTS; round++) {
		double sum = 0, min = INFINITY;
		for (size_t i = drift->from; i + SIDE_MIN <= all->count; i++) {
			if (i >= drift->from + SIDE_MIN && sum < min) {
				min = sum;
				drift->at = drift->to = i;
			}
			sum += fabs(all->values[i] - drift->before) - fabs(all->values[i] - drift->after);
		}
		set_medians(all, drift);
	}
}

static double lasted_s(const struct steps *steps, const struct relative *all, size_t from, size_t to)
{
	double sum = 0;
	for (size_t i = from; i < to; i++)
		sum += steps->step_s[all->rows[i]];
	return sum;
}

static double growth_min(const struct steps *steps, const struct relative *all, const struct drift *drift)
{
	double shorter_s = fmin(lasted_s(steps, all, drift->from, drift->to), lasted_s(steps, all, drift->at, all->count));
	return DRIFT_RATIO * fmax(1, DRIFT_MIN_S / shorter_s);
}

static bool is_worth_reporting(const struct steps *steps, const struct relative *all, const struct drift *drift)
{
	double grown = drift->after - drift->before, halfway = (drift->after + drift->before) / 2;
	double deviation = fmax(deviation_of_blocks(all, drift->from, drift->to, drift->before),
		deviation_of_blocks(all, drift->at, all->count, drift->after));
	if (grown < growth_min(steps, all, drift) * drift->before || grown < DRIFT_DEVIATIONS * deviation)
		return false;
	/* The newest steps are still slow. */
	if (median_between(all, all->count - SIDE_MIN / 2, all->count) < halfway)
		return false;
	return is_slower_throughout(all, drift->at, halfway) && !is_by_position(steps, all, drift->at, halfway);
}

static bool find_change(const struct steps *steps, const struct relative *all, size_t from, struct drift *out)
{
	double blocks[BLOCKS_MAX + 1], ranks[BLOCKS_MAX + 1];
	uint32_t order[BLOCKS_MAX + 1];
	size_t length = all->count - from, block = (length + BLOCKS_MAX - 1) / BLOCKS_MAX;
	struct change change;
	size_t count = medians_of_blocks(all, from, all->count, block, blocks, sizeof blocks / sizeof *blocks);
	if (!change_point(blocks, count, ranks, order, &change) || change.k <= 0 || change.p_value > DRIFT_P_MAX)
		return false;
	size_t at = from + change.at * block;
	if (at < from + SIDE_MIN || at + SIDE_MIN > all->count)
		return false;
	*out = (struct drift){ .from = from, .to = at, .at = at };
	set_medians(all, out);
	refine(all, out);
	if (all->count - out->at < after_min(out->at))
		return false;
	return is_worth_reporting(steps, all, out) &&
		!was_as_slow_before(all, out->at, out->after, out->after - out->before);
}

/* -- gradually slower -- */

static bool grows_in_each_quarter(const struct relative *all, double *first, double *last)
{
	double quarters[4];
	for (size_t i = 0; i < 4; i++)
		quarters[i] = median_between(all, i * all->count / 4, (i + 1) * all->count / 4);
	*first = quarters[0];
	*last = quarters[3];
	for (size_t i = 1; i < 4; i++)
		if (quarters[i] - quarters[i - 1] < CREEP_QUARTER_RATIO * (*last - *first))
			return false;
	return *last > *first;
}

static bool find_creep(const struct steps *steps, const struct relative *all, struct drift *out)
{
	double blocks[CREEP_POINTS + 1], at[CREEP_POINTS + 1];
	struct slope slope;
	if (all->count < CREEP_MIN)
		return false;
	*out = (struct drift){ .to = all->count / 4, .at = all->count * 3 / 4, .is_creeping = true };
	if (!grows_in_each_quarter(all, &out->before, &out->after))
		return false;
	size_t block = (all->count + CREEP_POINTS - 1) / CREEP_POINTS,
		   count = medians_of_blocks(all, 0, all->count, block, blocks, CREEP_POINTS);
	for (size_t i = 0; i < count; i++)
		at[i] = (double)i;
	if (!theil_sen(at, blocks, count, &slope) || !(slope.low_per_s > 0) || !is_worth_reporting(steps, all, out))
		return false;
	/* Extrapolate to both ends; the quarters' medians are those of their middles. */
	double grown = slope.per_s * (double)count, middle = median_between(all, 0, all->count);
	out->before = middle - grown / 2;
	out->after = middle + grown / 2;
	return out->before > 0;
}

/* -- making the pattern -- */

static void spread_rows(const struct relative *all, size_t from, size_t to, struct compared *out)
{
	size_t count = to - from < COMPARED_MAX ? to - from : COMPARED_MAX;
	out->count = count;
	for (size_t i = 0; i < count; i++)
		out->rows[i] = all->rows[from + i * (to - from) / count];
}

static double baseline_step(const struct steps *steps, const struct relative *all)
{
	double values[STEPS_MAX];
	for (size_t i = 0; i < all->count; i++)
		values[i] = steps->step_s[all->rows[i]] / all->values[i];
	return median_of(values, all->count);
}

static void make_pattern(
	const struct steps *steps, const struct relative *all, const struct drift *drift, struct pattern *out)
{
	double baseline_s = baseline_step(steps, all);
	size_t slower = drift->is_creeping ? 0 : drift->at;
	struct compared before, after;
	*out = (struct pattern){ .kind = PATTERN_DRIFT,
		.unit = PATTERN_BATCHES,
		.period = NAN,
		.is_creeping = drift->is_creeping,
		.count = all->count - slower,
		.of = all->count - slower,
		.first = steps->batches[all->rows[slower]]->ordinal,
		.last = steps->batches[all->rows[all->count - 1]]->ordinal,
		.before_s = drift->before * baseline_s,
		.after_s = drift->after * baseline_s };
	spread_rows(all, drift->from, drift->to, &before);
	spread_rows(all, drift->at, all->count, &after);
	describe_drift(steps, &before, &after, out);
}

/* Searches all retained steps first, for old changes, then shorter windows, for recent ones. */
bool find_drift(struct steps *steps, struct pattern *out)
{
	struct relative all;
	struct drift drift;
	make_relative(steps, &all);
	bool is_found = all.count >= WINDOW_MIN && (find_creep(steps, &all, &drift) || find_change(steps, &all, 0, &drift));
	for (size_t window = all.count / 2; !is_found && window >= WINDOW_MIN; window /= 2)
		is_found = find_change(steps, &all, all.count - window, &drift);
	if (is_found)
		make_pattern(steps, &all, &drift, out);
	return is_found;
}
