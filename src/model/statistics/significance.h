/* significance.h: could it be chance? Pure functions of small samples; an unknown result is NAN.
 *
 * Sources: Pettitt (1979) for the change point; Wald and Wolfowitz (1940) for runs; Fisher (1958) for two groups on a
 * line; the chance of hits is the union bound over which of the places are hit, drawn without replacement. */
#ifndef PMTOP_MODEL_STATISTICS_SIGNIFICANCE_H
#define PMTOP_MODEL_STATISTICS_SIGNIFICANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ln |Γ(x)|, on any thread: lgamma keeps a sign that is everybody's. */
double ln_gamma(double x);

/* The natural logarithm of an upper bound of the chance that of `marked` among `all` places, drawn at random, at least
 * `hits` fall on `chosen` given ones. */
double chance_of_hits(size_t all, size_t marked, size_t chosen, size_t hits);

/* The place that splits the values best into earlier and later ones by rank: `at` is the first of the later ones. */
/* k: Pettitt's; above 0 where the later ones are larger; p_value: his approximation, two-sided */
struct change {
	size_t at;
	double k, p_value;
};
/* `ranks` and `order`: room for n each. False with fewer than 2 values. */
bool change_point(const double *values, size_t n, double *ranks, uint32_t *order, struct change *out);

/* Whether what is marked and what is not follow each other at random: below 0 in stretches, above 0 in turn. NAN where
 * there is only one of them. */
double runs_z(const bool *marks, size_t n);

/* Sorted values in two groups such that the squares of the distances from the groups' means are the least. */
/* within, total: sums of squares */
struct two_groups {
	size_t low_count;
	double low_mean, high_mean, within, total;
};
/* false with fewer than 2 values */
bool split_in_two(const double *sorted, size_t n, struct two_groups *out);

/* Sums by place in the period: sums[i % period] over all i. A value at `begin` + i stands at (begin + i) % period. Adds
 * to `sums`. */
void fold_into(const float *values, size_t n, uint32_t begin, uint32_t period, float *sums);

#endif
