/* histogram.h: durations counted in a base-2 exponential histogram, as the region's totals keep them (PROTOCOL section
 * 1, pmtop-region(7)).
 *
 * 32 buckets an octave over 30 octaves from 1 µs (so up to 1,073 s), one below and one above: a quantile read at a
 * bucket's geometric middle is within 1.1 %. The region's header (src/region/pmtop.h) has the same rule of its own; a
 * test holds the two equal. */
#ifndef PMTOP_BASE_HISTOGRAM_H
#define PMTOP_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum {
	HISTOGRAM_PER_OCTAVE = 32,
	HISTOGRAM_OCTAVES = 30,
	HISTOGRAM_BUCKETS = HISTOGRAM_PER_OCTAVE * HISTOGRAM_OCTAVES + 2,
};

/* Bucket 0 holds durations below 1,000 ns; bucket i (1 ≤ i ≤ 960) those from 1000·2^((i−1)/32) up to, not including,
 * 1000·2^(i/32); the last those above. */
size_t histogram_bucket(uint64_t duration_ns);
/* The lower bound of a bucket in nanoseconds (0 for bucket 0). */
double histogram_lower_ns(size_t bucket);

/* The q-quantile (0 ≤ q ≤ 1) of `counts`, in seconds, clamped to [min_s, max_s]; NAN where nothing was counted. */
double histogram_quantile(const uint32_t counts[HISTOGRAM_BUCKETS], double q, double min_s, double max_s);
/* Several of them at once: what they have in common is found once. */
void histogram_quantiles(
	const uint32_t counts[HISTOGRAM_BUCKETS], size_t count, const double *q, double min_s, double max_s, double *out);

#endif
