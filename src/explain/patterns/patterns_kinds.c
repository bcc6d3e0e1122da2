/* Two kinds of steps: a bimodal distribution of step times with a clear gap, both mixed all the time. */
#include "src/explain/patterns/patterns_kinds.h"

#include <math.h>

#include "src/explain/patterns/patterns_cause.h"
#include "src/explain/patterns/patterns_private.h"
#include "src/model/statistics/significance.h"
#include "src/model/statistics/statistics.h"

enum { MIXED_MAX = 1024, MIXED_MIN = 100, EACH_MIN = 20 };
#define EACH_SHARE 0.1
#define HEAPS_RATIO 1.15
#define HEAPS_DEVIATIONS 5
#define DEVIATION_MIN 0.002
#define MAD_TO_DEVIATION 1.4826
/* The gap: this range between the two medians holds at most VALLEY_MAX times the size of the smaller group. */
#define VALLEY_FROM 0.35
#define VALLEY_TO 0.65
#define VALLEY_MAX 0.2
/* z score of the runs test. Below it the kinds come in long stretches: a change over time, not two kinds. */
#define STRETCHES_Z (-4)

struct mixed {
	size_t count;
	uint16_t rows[MIXED_MAX];
	double logs[MIXED_MAX];
};

struct heaps {
	double low, high, border;
	size_t low_count, high_count;
};

static unsigned commonest_kind(const struct steps *steps)
{
	size_t counts[RUN_KINDS_MAX] = { 0 };
	unsigned commonest = 0;
	for (size_t row = 0; row < steps->count; row++)
		counts[steps->kind[row]]++;
	for (unsigned kind = 1; kind < RUN_KINDS_MAX; kind++)
		commonest = counts[kind] > counts[commonest] ? kind : commonest;
	return commonest;
}

/* The newest steps of the most frequent kind, newest first. */
static void gather(const struct steps *steps, struct mixed *out)
{
	unsigned kind = commonest_kind(steps);
	out->count = 0;
	for (size_t row = steps->count; row-- > 0 && out->count < MIXED_MAX;) {
		if (steps->is_taken[row] || steps->kind[row] != kind)
			continue;
		out->rows[out->count] = (uint16_t)row;
		out->logs[out->count++] = log(steps->step_s[row]);
	}
}

static double deviation_of(const double *sorted, size_t count, double median)
{
	double values[MIXED_MAX];
	for (size_t i = 0; i < count; i++)
		values[i] = sorted[i];
	return fmax(MAD_TO_DEVIATION * mad_of(values, count, median), DEVIATION_MIN);
}

static bool find_heaps(const struct mixed *mixed, struct heaps *out)
{
	double sorted[MIXED_MAX];
	struct two_groups groups;
	for (size_t i = 0; i < mixed->count; i++)
		sorted[i] = mixed->logs[i];
	sort_ascending(sorted, mixed->count);
	if (!split_in_two(sorted, mixed->count, &groups))
		return false;
	size_t low = groups.low_count, high = mixed->count - low, smaller = low < high ? low : high, between = 0;
	*out = (struct heaps){ quantile_of_sorted(sorted, low, 0.5), quantile_of_sorted(sorted + low, high, 0.5),
		sorted[low], low, high };
	double apart = out->high - out->low;
	for (size_t i = 0; i < mixed->count; i++)
		between += sorted[i] > out->low + VALLEY_FROM * apart && sorted[i] < out->low + VALLEY_TO * apart;
	return smaller >= EACH_MIN && (double)smaller >= EACH_SHARE * (double)mixed->count && exp(apart) >= HEAPS_RATIO &&
		apart >= HEAPS_DEVIATIONS * deviation_of(sorted, low, out->low) &&
		apart >= HEAPS_DEVIATIONS * deviation_of(sorted + low, high, out->high) &&
		(double)between <= VALLEY_MAX * (double)smaller;
}

static bool are_mixed(const struct mixed *mixed, const struct heaps *heaps)
{
	bool marks[MIXED_MAX];
	for (size_t i = 0; i < mixed->count; i++)
		marks[i] = mixed->logs[i] >= heaps->border;
	return runs_z(marks, mixed->count) > STRETCHES_Z;
}

bool find_kinds(struct steps *steps, struct pattern *out)
{
	struct mixed mixed;
	struct heaps heaps;
	struct compared fast = { .count = 0 }, slow = { .count = 0 };
	gather(steps, &mixed);
	if (mixed.count < MIXED_MIN || !find_heaps(&mixed, &heaps) || !are_mixed(&mixed, &heaps))
		return false;
	for (size_t i = 0; i < mixed.count; i++) {
		struct compared *heap = mixed.logs[i] >= heaps.border ? &slow : &fast;
		if (heap->count < COMPARED_MAX)
			heap->rows[heap->count++] = mixed.rows[i];
	}
	*out = (struct pattern){ .kind = PATTERN_KINDS,
		.unit = PATTERN_BATCHES,
		.period = NAN,
		.count = heaps.high_count,
		.of = mixed.count,
		.first = steps->batches[mixed.rows[mixed.count - 1]]->ordinal,
		.last = steps->batches[mixed.rows[0]]->ordinal,
		.before_s = exp(heaps.low),
		.after_s = exp(heaps.high) };
	describe_kinds(steps, &fast, &slow, out);
	return true;
}
