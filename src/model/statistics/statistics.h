/* statistics.h: the formulas. Pure functions; an unknown result is NAN. Sources: Theil (1950), Sen (1968) for the slope
 * and its interval; MAD = median(|x − median(x)|), unscaled. */
#ifndef PMTOP_MODEL_STATISTICS_STATISTICS_H
#define PMTOP_MODEL_STATISTICS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a sorted array; linear between ranks (type 7). NAN for n = 0. */
double quantile_of_sorted(const double *sorted, size_t n, double q);
double quantile_of(double *values, size_t n, double q); /* the same of any; reorders `values` */
double median_of(double *values, size_t n);             /* reorders `values` */
double mad_of(double *values, size_t n, double median); /* overwrites `values` */

struct slope {
	double per_s, low_per_s, high_per_s;
	size_t points;
};
/* Theil–Sen with its 95 % interval (Sen's, from the normal approximation of Kendall's S), over at most 300 points
 * (thinned evenly beyond). Points that are not finite are left out. False with fewer than 8 points or no spread in
 * time. */
bool theil_sen(const double *time_s, const double *value, size_t n, struct slope *out);

/* The newest `window` values, kept sorted: insertion and removal O(window). What is not finite is left out. All but
 * rolling_push are NAN when empty; NULL (out of memory at rolling_new) is an empty window that stays empty. */
struct rolling;
struct rolling *rolling_new(size_t window);
void rolling_free(struct rolling *rolling);
void rolling_push(struct rolling *rolling, double value);
void rolling_clear(struct rolling *rolling);
size_t rolling_count(const struct rolling *rolling);
double rolling_median(const struct rolling *rolling);
double rolling_mad(const struct rolling *rolling);
double rolling_quantile(const struct rolling *rolling, double q);

#endif
