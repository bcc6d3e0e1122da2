/* plot.h: plots on a canvas: braille dots, falling back to blocks and ASCII with the same meaning. */
#ifndef PMTOP_UI_CORE_PLOT_H
#define PMTOP_UI_CORE_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/core/canvas.h"

/* A stable vertical scale: it grows at once and shrinks only after the data's maximum was under half of it for 40
 * updates. */
struct scale {
	double min, max;
	unsigned calm;
};

/* One sample column: NAN in `high` = a gap. low == high draws a point; else a vertical stroke (min to max). */
struct plot_point {
	double low, high;
	enum role role;
	bool is_flagged;
};

/* The axis: labels with units at the left ("0.6 s ┤"), 8 cells wide unless a label needs more; returns the room for the
 * plot (all of it under 20 cells or 2 rows). PLOT_PERCENT takes ratios: 1 is 100 %; PLOT_CPUS nanoseconds a second. */
enum plot_unit { PLOT_SECONDS, PLOT_BYTES, PLOT_PERCENT, PLOT_COUNT, PLOT_WATTS, PLOT_HERTZ, PLOT_CELSIUS, PLOT_CPUS };
/* The canvas row of a value. */
int plot_row(const struct canvas *canvas, struct rect rect, const struct scale *scale, double value);
/* How many points fit across a rect of this width (2 a cell in braille, 1 otherwise). */
size_t plot_resolution(const struct canvas *canvas, struct rect rect);
/* Draws points from left to right, the newest last, joined to a line if `is_line`. If there are more than
 * plot_resolution, the newest are drawn; fewer start at the left. Flagged points get ▲ above them (or in the top
 * row). */
void plot_points(struct canvas *canvas, struct rect rect, const struct scale *scale, const struct plot_point *points,
	size_t count, bool is_line);
/* A faint horizontal line at `value`, and a band between two values; only blank cells are drawn. */
void plot_level(struct canvas *canvas, struct rect rect, const struct scale *scale, double value, enum role role);
void plot_band(
	struct canvas *canvas, struct rect rect, const struct scale *scale, double low, double high, enum role role);

/* A stacked bar, one cell wide, at column `x` of the canvas, parts from the bottom up. ASCII and monochrome use
 * letters or shades for the parts, so colour is never the only sign. */
struct stack_part {
	double value;
	enum role role;
};
void plot_stack(struct canvas *canvas, struct rect rect, int x, const struct scale *scale,
	const struct stack_part *parts, size_t count, bool is_flagged, bool is_selected);
/* The character that plot_stack draws for a phase, for legends. */
uint32_t plot_sign(const struct canvas *canvas, enum role role);

#endif
