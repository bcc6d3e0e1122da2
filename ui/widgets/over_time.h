/* over_time.h: figures over time, in one plot on one scale. */
#ifndef PMTOP_UI_WIDGETS_OVER_TIME_H
#define PMTOP_UI_WIDGETS_OVER_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/core/plot.h"
#include "ui/widgets/view.h"

enum { OVER_TIME_LINES = 3 };

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

#endif
