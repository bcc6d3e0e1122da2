/* eta.h: how far the run is, and how long it still takes. */
#ifndef PMTOP_MODEL_RUN_ETA_H
#define PMTOP_MODEL_RUN_ETA_H

#include "src/model/run/run.h"

void run_refresh_eta(struct run *run, int64_t now_ns);

#endif
