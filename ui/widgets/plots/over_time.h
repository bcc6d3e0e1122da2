/* over_time.h: figures over time, in one plot on one scale. */
#ifndef PMTOP_UI_WIDGETS_PLOTS_OVER_TIME_H
#define PMTOP_UI_WIDGETS_PLOTS_OVER_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/core/plot.h"
#include "ui/widgets/view.h"

enum { OVER_TIME_LINES = 3, OVER_TIME_SERIES_MAX = 16, OVER_TIME_ROWS_MAX = 512 };

struct over_time {
	int64_t from_ns; /* up to now */
	enum plot_unit unit;
	bool from_zero;
	double level; /* the scale includes it; NAN = none */
	size_t count;
	/* the first is drawn last, on top */
	struct {
		const struct series *series;
		enum role role;
	} lines[OVER_TIME_LINES];
};
/* Returns the plot's rectangle without its axis; empty if there are no samples, which the panel says. */
struct rect over_time_draw(
	struct scene *scene, struct canvas *canvas, struct rect rect, struct scale *scale, const struct over_time *what);
/* Names the two lines of a plot in its first row that has room; `upper` is never below `lower`. */
void over_time_legend(struct canvas *canvas, struct rect plot, const char *upper, enum role upper_role,
	const char *lower, enum role lower_role);
/* One figure on an existing scale, without an axis. */
void over_time_points(struct scene *scene, struct canvas *canvas, struct rect rect, const struct scale *scale,
	const struct series *series, int64_t from_ns, enum role role);

/* Writes what a plot at the view's zoom shows as CSV: a row for each of `rows` equal parts of the time in which a
 * series has a point: the time, `cells` (such as ",0,NVIDIA H100"; "" for none), the newest value of each series. */
void over_time_write(const struct scene *scene, const struct series *const series[], size_t count, size_t rows,
	const char *cells, struct buffer *out);

#endif
