/* bins.h: the step times of the whole run, merged into bins. */
#ifndef PMTOP_MODEL_RUN_FIGURES_BINS_H
#define PMTOP_MODEL_RUN_FIGURES_BINS_H

#include "src/model/run/run.h"

void run_add_bin(struct run *run, uint64_t ordinal, int64_t begin_ns, double step_s);
void run_replace_bins(struct run *run, const struct history_row *rows, size_t count);

#endif
