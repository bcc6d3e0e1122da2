/* contrast.h: the difference between two sequences of times, with a 95 % interval. Pure functions; an unknown result is
 * NAN.
 *
 * Step times have heavy tails, several modes and autocorrelation. So the ratio is the estimator of Hodges and Lehmann
 * (1963): the median of the ratios of all pairs of a step of B and a step of A. Its interval inverts the Mann–Whitney
 * test (Moses 1965; Lehmann 1975, section 2.5). The variance of the placements (Sen 1960) is estimated from the means
 * of blocks (batch means: Conway 1963, Schmeiser 1982), because neighbours are not independent, with Student's quantile
 * for the number of blocks. The effect is Cliff's delta (1993). The results are deterministic. */
#ifndef PMTOP_COMPARE_CONTRAST_H
#define PMTOP_COMPARE_CONTRAST_H

#include <stdbool.h>
#include <stddef.h>

/* Fewer values than this on a side give no interval. */
enum { CONTRAST_MIN = 20 };

struct interval {
	double value, low, high;
}; /* low, high: 95 % */

struct contrast {
	struct interval ratio; /* B ÷ A */
	double effect;         /* share of pairs in which B is the larger, minus those in which A is: −1 … 1 */
};

/* The values are in the order of time, all above 0. Returns false if out of memory, or with too few values. */
bool contrast_ratio(const double *a, size_t n, const double *b, size_t m, struct contrast *out);
/* B − A of the means, with Welch's interval over means of blocks. */
bool contrast_means(const double *a, size_t n, const double *b, size_t m, struct interval *out);
/* B ÷ A of the means, the same in logarithms. */
bool contrast_mean_ratio(const double *a, size_t n, const double *b, size_t m, struct interval *out);
/* A quantile of one sequence, and the mean of one. */
bool contrast_quantile(const double *values, size_t n, double q, struct interval *out);
bool contrast_mean(const double *values, size_t n, struct interval *out);
/* The same ratio where only the quantiles of each are known (a saved report): roughly, as if a log-normal, and ten
 * batches in a row were one. */
struct known_quantiles {
	double p50, p95;
	double count;
};
bool contrast_known(const struct known_quantiles *a, const struct known_quantiles *b, struct interval *out);
/* The ratio of the 95th percentiles, likewise. */
bool contrast_known_p95(const struct known_quantiles *a, const struct known_quantiles *b, struct interval *out);

#endif
