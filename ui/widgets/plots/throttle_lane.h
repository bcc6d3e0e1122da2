/* throttle_lane.h: a row of marks below a plot: times at which a GPU was throttled by power (▂, p) or heat (▆, t). */
#ifndef PMTOP_UI_WIDGETS_PLOTS_THROTTLE_LANE_H
#define PMTOP_UI_WIDGETS_PLOTS_THROTTLE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/gpus/gpus.h"
#include "ui/widgets/view.h"

enum { LANE_CELLS_MAX = 2048 };

/* The time that one cell of the plot above covers; from ≥ to: none. */
struct lane_cell {
	int64_t from_ns, to_ns;
};

struct lane {
	size_t count;
	const struct gpu *gpus[GPUS_MAX];
};

/* Those that this run is on. */
void lane_of_run(const struct scene *scene, const struct run *run, struct lane *lane);
/* The share of the known time in which any of them was throttled; 0 also if nothing is known. */
double lane_share(const struct lane *lane, int64_t from_ns, int64_t to_ns);
/* `row` has one cell for each of `cells`; the label is left of it, on the plot's axis. */
void lane_draw(
	const struct lane *lane, struct canvas *canvas, struct rect row, const struct lane_cell *cells, size_t count);

#endif
