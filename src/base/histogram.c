#include "src/base/histogram.h"

#include <math.h>

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
	/* The logarithm may round across a bound; the bounds decide. */
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

double histogram_quantile(const uint32_t counts[HISTOGRAM_BUCKETS], double q, double min_s, double max_s)
{
	uint64_t total = 0;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		total += counts[i];
	if (total == 0)
		return NAN;
	double position = fmin(fmax(q, 0), 1) * (double)(total - 1);
	uint64_t rank = (uint64_t)position, below = counts[0];
	size_t bucket = 0;
	while (below <= rank && bucket + 1 < HISTOGRAM_BUCKETS)
		below += counts[++bucket];
	double low = middle_of(bucket, min_s, max_s);
	if (rank + 1 >= total || below > rank + 1)
		return low;
	while (below <= rank + 1 && bucket + 1 < HISTOGRAM_BUCKETS)
		below += counts[++bucket];
	return low + (middle_of(bucket, min_s, max_s) - low) * (position - (double)rank);
}
