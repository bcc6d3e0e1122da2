/* loop_epochs.h: what pmtop counts from outside, of a process that publishes steps, completes its epochs.
 *
 * One that publishes neither epochs nor their lengths (an optimizer that is instrumented without a DataLoader) has
 * those of the loop that passes as often as it publishes steps. One whose epochs are passes over a DataLoader
 * (epochs_are_passes) takes the number of epochs from the loop around them, and the epoch of that loop's range if an
 * earlier run had the first ones. Passes of which an epoch of the loop has several (one for each client or task), or
 * which go on where it begins anew (folds), are no epochs: those of the loop are shown. One whose passes are within a
 * loop over all steps has the progress of that loop. */
#ifndef PMTOP_MODEL_RUN_LOOP_EPOCHS_H
#define PMTOP_MODEL_RUN_LOOP_EPOCHS_H

#include "src/model/run/run.h"

/* Until the loop is found, or for 3 s, a pass has no number: that of a resumed run would be wrong. `is_sampled`: pmtop
 * reads Python stacks. */
void run_await_loop_epochs(struct run *run, bool is_sampled, int64_t now_ns);
/* After the refresh of both. `loop`: the inferred run of the same process. Sets run->has_loop_epochs. */
void run_take_loop_epochs(struct run *run, struct run *loop);

#endif
