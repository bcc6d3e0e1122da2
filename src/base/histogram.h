/* histogram.h: durations counted in a base-2 exponential histogram, the format of the region's totals (PROTOCOL section
 * 1, pmtop-region(7)).
 *
 * It has 32 buckets per octave over 30 octaves from 1 µs (up to 1,074 s), one bucket below and one above. A quantile
 * read at a bucket's geometric middle is within 1.1 %. src/region/pmtop.h implements the same buckets, because it
 * includes nothing of pmtop; a test compares the two. */
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

/* The q-quantile (0 ≤ q ≤ 1) of `counts`, in seconds, clamped to [min_s, max_s]; NAN if nothing was counted. */
double histogram_quantile(const uint32_t counts[HISTOGRAM_BUCKETS], double q, double min_s, double max_s);
/* `count` quantiles at once: faster, because the counts are summed only once. */
void histogram_quantiles(
	const uint32_t counts[HISTOGRAM_BUCKETS], size_t count, const double *q, double min_s, double max_s, double *out);

#endif
