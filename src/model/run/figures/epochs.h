/* epochs.h: the epochs of a run. */
#ifndef PMTOP_MODEL_RUN_FIGURES_EPOCHS_H
#define PMTOP_MODEL_RUN_FIGURES_EPOCHS_H

#include "src/model/run/run.h"

void run_begin_epoch(struct run *run, uint32_t index, int64_t time_ns);
/* `index` EPOCH_UNKNOWN for one that began with a number, of an inferred run: it was none. */
void run_end_epoch(struct run *run, uint32_t index, int64_t time_ns);
void run_replace_epochs(struct run *run, const struct epoch_row *rows, size_t count, uint64_t dropped);
void run_copy_epochs(struct run *run, const struct run *from); /* NULL: none */
/* An earlier run had `ahead` epochs more than are known so far: all numbers rise. */
void run_shift_epochs(struct run *run, uint32_t ahead);
struct epoch *run_epoch_at(struct run *run, int64_t time_ns); /* NULL: in none */
void run_assign_epoch(struct run *run, const struct track *track, struct batch *batch);
void epoch_add_batch(struct epoch *epoch, double batch_s);
/* After losses: takes an epoch whose begin was lost from the region's state. */
void run_reconcile_epochs(struct run *run);
void run_refresh_epochs(struct run *run, int64_t now_ns);

#endif
