/* late_figures.h: what became known of a mode's batches only later, by name. */
#ifndef PMTOP_MODEL_RUN_FIGURES_LATE_FIGURES_H
#define PMTOP_MODEL_RUN_FIGURES_LATE_FIGURES_H

#include <stddef.h>

#include "src/model/run/run.h"
#include "src/model/statistics/statistics.h"

void run_add_late_figure(struct run *run, uint32_t name, uint32_t mode, double value);
/* NULL: no batch of that mode has had a figure of that name. `window`: the newest values; may be NULL. */
const struct late_figure *run_late_figure(
	const struct run *run, uint32_t name, uint32_t mode, const struct rolling **window);
void run_release_late_figures(struct run *run);

enum figure_unit late_figure_label(char *out, size_t size, const char *name);

#endif
