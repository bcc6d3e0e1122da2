/* run_histogram.h: how many steps, or spans of one name, took at most so long: cumulative counts, for classic
 * histograms. The bounds hold within 2 %, because durations are counted in buckets of that width
 * (src/base/histogram.h). */
#ifndef PMTOP_MODEL_RUN_FIGURES_RUN_HISTOGRAM_H
#define PMTOP_MODEL_RUN_FIGURES_RUN_HISTOGRAM_H

#include "src/model/run/run.h"

enum { RUN_BOUNDS_MAX = 16 };

struct run_bounds {
	size_t count;
	double s[RUN_BOUNDS_MAX]; /* ascending */
};

struct run_histogram {
	uint64_t count;
	double total_s;
	uint64_t cumulative[RUN_BOUNDS_MAX]; /* steps up to each bound */
};

/* Adds the steps of a mode: of the whole run, else (an inferred run) those since pmtop attached, without the warm-up.
 * False: nothing was counted. */
bool run_histogram_add_steps(
	const struct run *run, const struct track *track, const struct run_bounds *bounds, struct run_histogram *into);
/* Adds the outermost spans of one name and mode, over the whole run. False: nothing was counted. */
bool run_histogram_add_spans(
	const struct run *run, uint32_t mode, uint32_t name, const struct run_bounds *bounds, struct run_histogram *into);

#endif
