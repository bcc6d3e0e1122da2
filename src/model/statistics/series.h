/* series.h: one figure over time, at several resolutions, so that plots can show the last seconds or the whole run.
 *
 * Level 0 holds the latest points; each further level holds bins (min, max, mean, last) four times as wide as those of
 * the level below. Memory is bounded for any length of run (1,024 points; 8 levels of 512 bins, 0.5 s to 8,192 s wide)
 * and is allocated as needed. A time without points has no bin, so gaps remain gaps. */
#ifndef PMTOP_MODEL_STATISTICS_SERIES_H
#define PMTOP_MODEL_STATISTICS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct series;

struct series_column {
	bool has; /* false: no measurement in this column */
	double min, max, mean, last;
};

struct series *series_new(void); /* NULL when out of memory */
void series_free(struct series *series);
/* Appends a point. Points older than the last one are dropped. A value that is not finite marks a gap. In all functions
 * a NULL series is an empty one. */
void series_push(struct series *series, int64_t time_ns, double value);
/* The latest finite point. False: none. */
bool series_last(const struct series *series, int64_t *time_ns, double *value);
bool series_extremes(const struct series *series, double *min, double *max); /* over all points ever pushed */
/* Time of the first point ever pushed; 0 = none yet. */
int64_t series_first_ns(const struct series *series);
/* Fills `count` columns of equal width over [from_ns, to_ns), from the finest level that reaches back to from_ns. If
 * columns are narrower than the distance of points, a point holds until the next one. The next one leaves a gap if it
 * is more than 2 s later, and more than twice the previous distance. */
void series_columns(
	const struct series *series, int64_t from_ns, int64_t to_ns, struct series_column *out, size_t count);
/* The mean over a window. Returns the number of points in it; 0: *mean is unchanged. */
size_t series_mean(const struct series *series, int64_t from_ns, int64_t to_ns, double *mean);

#endif
