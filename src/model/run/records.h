/* records.h: the records of a run, each passed to the file that is in charge of it. */
#ifndef PMTOP_MODEL_RUN_RECORDS_H
#define PMTOP_MODEL_RUN_RECORDS_H

#include "src/model/run/run.h"

/* Everything that has a run in it but RUN_OPENED; `rest_count` records, this one included, are left in the set. */
void run_apply(struct run *run, const struct record *record, size_t rest_count);
/* The epochs published so far are none. */
void run_withdraw_epochs(struct run *run);
/* At the first event, or at the end, of the set that opens the run. */
void run_settle_past(struct run *run, const struct record *rest, size_t rest_count);

#endif
