/* device_pace.h: how fast batches go where a device works behind the host. */
#ifndef PMTOP_MODEL_RUN_STEPS_DEVICE_PACE_H
#define PMTOP_MODEL_RUN_STEPS_DEVICE_PACE_H

#include "src/model/run/run.h"

/* At the end of a batch's step, before it is judged. */
void device_pace_take(const struct run *run, struct track *track, struct batch *batch);
/* When its figure gpu.batch_s has come. True: the batch is to be flagged for what the device took. */
bool device_pace_hear(const struct run *run, const struct track *track, struct batch *batch, double seconds);
void device_pace_restart(struct track *track);

#endif
