/* refresh.h: a run opens and closes, and its figures are made after each set of records. */
#ifndef PMTOP_MODEL_RUN_REFRESH_H
#define PMTOP_MODEL_RUN_REFRESH_H

#include "src/model/model.h"
#include "src/model/run/run.h"

/* False: out of memory; *run is then as empty as before. */
bool run_open(struct run *run, const struct record *opened, const struct model_options *options);
void run_release(struct run *run);
/* After a set: figures, ETA, operations. */
void run_refresh(struct run *run, int64_t now_ns);

#endif
