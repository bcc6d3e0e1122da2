/* operations.h: the operations of a run, from its totals. */
#ifndef PMTOP_MODEL_RUN_FIGURES_OPERATIONS_H
#define PMTOP_MODEL_RUN_FIGURES_OPERATIONS_H

#include "src/model/run/run.h"

void run_refresh_operations(struct run *run, bool with_recent);

#endif
