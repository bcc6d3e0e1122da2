/* significance.h: statistical tests for small samples. Pure functions; an unknown result is NAN.
 *
 * Sources: Pettitt (1979) for the change point; Wald and Wolfowitz (1940) for runs; Fisher (1958) for two groups on a
 * line; chance_of_hits is the union bound over the positions hit, drawn without replacement. */
#ifndef PMTOP_MODEL_STATISTICS_SIGNIFICANCE_H
#define PMTOP_MODEL_STATISTICS_SIGNIFICANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ln |Γ(x)|. Thread-safe, unlike lgamma, which writes the global signgam. */
double ln_gamma(double x);

/* The natural logarithm of an upper bound of the probability that, if `marked` of `all` positions are drawn at random,
 * at least `hits` of them are among `chosen` given positions. */
double chance_of_hits(size_t all, size_t marked, size_t chosen, size_t hits);

/* The best split of a series into an earlier and a later part, by rank. at: index of the first later value; k:
 * Pettitt's statistic, above 0 if the later values are larger; p_value: his two-sided approximation. */
struct change {
	size_t at;
	double k, p_value;
};
/* `ranks` and `order` are scratch space for n values each. False: fewer than 2 values. */
bool change_point(const double *values, size_t n, double *ranks, uint32_t *order, struct change *out);

/* The z-score of the runs test: below 0 if marks cluster, above 0 if they alternate. NAN if all values are equal. */
double runs_z(const bool *marks, size_t n);

/* Sorted values split into two groups with the least sum of squared distances from the groups' means. within, total:
 * sums of squares. */
struct two_groups {
	size_t low_count;
	double low_mean, high_mean, within, total;
};
/* False: fewer than 2 values. */
bool split_in_two(const double *sorted, size_t n, struct two_groups *out);

/* Folds values by a period: adds values[i] to sums[(begin + i) % period]. */
void fold_into(const float *values, size_t n, uint32_t begin, uint32_t period, float *sums);

#endif
