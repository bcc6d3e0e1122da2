/* series.h: one figure over time, kept at several resolutions so that the last seconds and the whole run can both be
 * drawn.
 *
 * Level 0 keeps the newest points as they came; each further level keeps bins (min, max, mean, last) four times as wide
 * as the one below. Memory is bounded whatever the run's length (1,024 points; 8 levels of 512 bins, 0.5 s to 8,192 s
 * wide), and grows only as it is needed. Gaps stay gaps: a time without a point has no bin. */
#ifndef PMTOP_MODEL_STATISTICS_SERIES_H
#define PMTOP_MODEL_STATISTICS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct series;

struct series_column {
	bool has; /* false: nothing was measured in this column */
	double min, max, mean, last;
};

struct series *series_new(void); /* NULL when out of memory */
void series_free(struct series *series);
/* Times do not go back; a point that does is dropped. What is not finite marks a gap. NULL is a series that stays
 * empty, here and below. */
void series_push(struct series *series, int64_t time_ns, double value);
/* the newest that is no gap */
bool series_last(const struct series *series, int64_t *time_ns, double *value);
bool series_extremes(const struct series *series, double *min, double *max); /* of all that was ever pushed */
/* of all that was ever pushed; 0 = nothing yet */
int64_t series_first_ns(const struct series *series);
/* Fills `count` columns of equal width over [from_ns, to_ns), from the finest level that still covers from_ns. Where
 * columns are finer than the points, a point stands until the next one, unless that comes later than 2 s and than twice
 * the distance to the point before: that is a gap. */
void series_columns(
	const struct series *series, int64_t from_ns, int64_t to_ns, struct series_column *out, size_t count);
/* Mean over a window, and how many points stand in it (0: *mean untouched). */
size_t series_mean(const struct series *series, int64_t from_ns, int64_t to_ns, double *mean);

#endif
