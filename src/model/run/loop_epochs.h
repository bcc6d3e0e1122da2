/* loop_epochs.h: a program that publishes steps but neither epochs nor their lengths (an optimizer that is instrumented
 * without a DataLoader) runs a loop that pmtop counts from outside: that loop has the epoch, its length and the ETA. */
#ifndef PMTOP_MODEL_RUN_LOOP_EPOCHS_H
#define PMTOP_MODEL_RUN_LOOP_EPOCHS_H

#include "src/model/run/run.h"

/* After the refresh of both. `loop`: the inferred run of the same process. Takes them while the loop passes as often as
 * steps are published; sets run->has_loop_epochs. */
void run_take_loop_epochs(struct run *run, struct run *loop);

#endif
