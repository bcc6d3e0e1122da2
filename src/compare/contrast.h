/* contrast.h: by how much two sequences of times differ, and how sure that is. Pure functions; an unknown result is
 * NAN.
 *
 * Step times have heavy tails, several modes and neighbours that are alike. So the ratio is Hodges and Lehmann's
 * (1963): the median of all ratios of one of B to one of A. Its interval is that of the Mann–Whitney statistic turned
 * round (Moses 1965; Lehmann 1975, section 2.5), with the variance of the placements (Sen 1960) taken from the means of
 * blocks of neighbours (batch means: Conway 1963, Schmeiser 1982), for neighbours are not independent; and Student's
 * quantile for so many blocks. The effect is Cliff's delta (1993). No chance is involved: the same figures give the
 * same. */
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

/* In the order of time, all above 0. False: out of memory, or too few of them. */
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

#endif
