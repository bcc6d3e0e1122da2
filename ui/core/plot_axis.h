/* plot_axis.h: the axis of a plot. */
#ifndef PMTOP_UI_CORE_PLOT_AXIS_H
#define PMTOP_UI_CORE_PLOT_AXIS_H

#include <stdbool.h>

#include "ui/core/canvas.h"
#include "ui/core/plot.h"

/* `min`/`max` of the data shown; from_zero pins the lower end at 0. Ends on round numbers (1, 2, 2.5, 5 × 10^k
 * steps). */
void scale_update(struct scale *scale, double min, double max, bool from_zero);
struct rect plot_axis(struct canvas *canvas, struct rect rect, const struct scale *scale, enum plot_unit unit);

#endif
