/* throttle_lane.h: a row of marks below a plot: where a GPU ran slower than it could, for power (▂, p) or for heat (▆,
 * t). */
#ifndef PMTOP_UI_WIDGETS_THROTTLE_LANE_H
#define PMTOP_UI_WIDGETS_THROTTLE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/gpus/gpus.h"
#include "ui/widgets/view.h"

enum { LANE_CELLS_MAX = 2048 };

/* What one cell of the plot above covers; from ≥ to: nothing. */
struct lane_cell {
	int64_t from_ns, to_ns;
};

struct lane {
	size_t count;
	const struct gpu *gpus[GPUS_MAX];
};

/* Those that this run is on. */
void lane_of_run(const struct scene *scene, const struct run *run, struct lane *lane);
/* The share in which any of them was held back, of the time of which that is known; 0 also where nothing is. */
double lane_share(const struct lane *lane, int64_t from_ns, int64_t to_ns);
/* `row` holds a cell for each of `cells`; its label stands before it, on the axis of the plot above. */
void lane_draw(
	const struct lane *lane, struct canvas *canvas, struct rect row, const struct lane_cell *cells, size_t count);

#endif
