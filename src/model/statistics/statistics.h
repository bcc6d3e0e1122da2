/* statistics.h: quantiles, robust spread and slope. Pure functions; an unknown result is NAN. Sources: Theil (1950),
 * Sen (1968) for the slope and its interval; MAD = median(|x − median(x)|), unscaled. */
#ifndef PMTOP_MODEL_STATISTICS_STATISTICS_H
#define PMTOP_MODEL_STATISTICS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void sort_ascending(double *values, size_t n);
/* The q-quantile of a sorted array, linear between ranks (type 7). NAN for n = 0. */
double quantile_of_sorted(const double *sorted, size_t n, double q);
double quantile_of(double *values, size_t n, double q); /* the same, unsorted; reorders `values` */
double median_of(double *values, size_t n);             /* reorders `values` */
double mad_of(double *values, size_t n, double median); /* overwrites `values` */

struct slope {
	double per_s, low_per_s, high_per_s;
	size_t points;
};
/* Theil–Sen with its 95 % interval (Sen's, from the normal approximation of Kendall's S), over at most 300 points
 * (thinned evenly beyond). Ignores points that are not finite. False: fewer than 8 points, all at one time, or out of
 * memory. */
bool theil_sen(const double *time_s, const double *value, size_t n, struct slope *out);

/* The latest `window` values, sorted: insertion and removal take O(window). Values that are not finite are ignored. An
 * empty window returns NAN. All functions accept NULL (rolling_new ran out of memory) as an empty window. */
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
