#include "src/base/histogram.h"

#include <math.h>
#include <stdbool.h>

#define FIRST_BOUND_NS 1000.0

double histogram_lower_ns(size_t bucket)
{
	if (bucket == 0)
		return 0;
	return FIRST_BOUND_NS * exp2((double)(bucket - 1) / HISTOGRAM_PER_OCTAVE);
}

size_t histogram_bucket(uint64_t duration_ns)
{
	double duration = (double)duration_ns;
	if (duration < FIRST_BOUND_NS)
		return 0;
	if (duration >= histogram_lower_ns(HISTOGRAM_BUCKETS - 1))
		return HISTOGRAM_BUCKETS - 1;
	size_t bucket = 1 + (size_t)(log2(duration / FIRST_BOUND_NS) * HISTOGRAM_PER_OCTAVE);
	/* The logarithm may round across a bound. */
	if (duration < histogram_lower_ns(bucket))
		return bucket - 1;
	if (duration >= histogram_lower_ns(bucket + 1))
		return bucket + 1;
	return bucket;
}

static double middle_of(size_t bucket, double min_s, double max_s)
{
	double middle_s = histogram_lower_ns(bucket) * exp2(0.5 / HISTOGRAM_PER_OCTAVE) * 1e-9;
	return fmin(fmax(middle_s, min_s), max_s);
}

enum { BLOCK = 16 };

static bool is_empty(const uint32_t *counts)
{
	uint32_t any = 0;
	for (size_t i = 0; i < BLOCK; i++)
		any |= counts[i];
	return any == 0;
}

/* Finds the first and the last bucket in use, usually a small part of all. False: all are empty. */
static bool find_used(const uint32_t counts[HISTOGRAM_BUCKETS], size_t *first, size_t *last)
{
	size_t low = 0, high = HISTOGRAM_BUCKETS - 1;
	while (low + BLOCK <= HISTOGRAM_BUCKETS && is_empty(counts + low))
		low += BLOCK;
	while (low < HISTOGRAM_BUCKETS && counts[low] == 0)
		low++;
	if (low == HISTOGRAM_BUCKETS)
		return false;
	while (high >= low + BLOCK && is_empty(counts + high + 1 - BLOCK))
		high -= BLOCK;
	while (counts[high] == 0)
		high--;
	*first = low;
	*last = high;
	return true;
}

static uint64_t sum_of_block(const uint32_t *counts)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < BLOCK; i++)
		sum += counts[i];
	return sum;
}

struct used {
	const uint32_t *counts;
	size_t first, last;
	uint64_t total;
};

static double quantile_of_used(const struct used *used, double q, double min_s, double max_s)
{
	const uint32_t *counts = used->counts;
	double position = fmin(fmax(q, 0), 1) * (double)(used->total - 1);
	uint64_t rank = (uint64_t)position, below = 0;
	size_t bucket = used->first;
	for (; bucket + BLOCK <= used->last; bucket += BLOCK) {
		uint64_t block = sum_of_block(counts + bucket);
		if (below + block > rank)
			break;
		below += block;
	}
	below += counts[bucket];
	while (below <= rank && bucket < used->last)
		below += counts[++bucket];
	double low = middle_of(bucket, min_s, max_s);
	if (rank + 1 >= used->total || below > rank + 1)
		return low;
	while (below <= rank + 1 && bucket < used->last)
		below += counts[++bucket];
	return low + (middle_of(bucket, min_s, max_s) - low) * (position - (double)rank);
}

void histogram_quantiles(
	const uint32_t counts[HISTOGRAM_BUCKETS], size_t count, const double *q, double min_s, double max_s, double *out)
{
	struct used used = { .counts = counts };
	bool has_any = find_used(counts, &used.first, &used.last);
	size_t i = used.first;
	for (; has_any && i + BLOCK <= used.last; i += BLOCK)
		used.total += sum_of_block(counts + i);
	for (; has_any && i <= used.last; i++)
		used.total += counts[i];
	for (size_t k = 0; k < count; k++)
		out[k] = has_any ? quantile_of_used(&used, q[k], min_s, max_s) : NAN;
}

double histogram_quantile(const uint32_t counts[HISTOGRAM_BUCKETS], double q, double min_s, double max_s)
{
	double out;
	histogram_quantiles(counts, 1, &q, min_s, max_s, &out);
	return out;
}
