/* scope.h: which part of the model is told where: the same answer in every format. Internal to src/export. */
#ifndef PMTOP_EXPORT_SCOPE_H
#define PMTOP_EXPORT_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/model/model.h"
#include "src/rules/alerts.h"

/* NULL where `run` is no index of the model's runs. */
const struct run *scope_run(const struct model *model, int run);
/* The watched process, or where a region is read by itself, the one that published; 0 = none. */
int32_t scope_pid(const struct model *model, const struct run *run);
/* "train" where no mode was published. */
const char *scope_mode_name(const struct run *run, uint32_t mode);
/* True for rows told with this track: those of its mode, and with the main track those of modes that never had a batch.
 * A row of which nothing has finished is not told: its times are not known. */
bool scope_is_of_track(const struct run *run, const struct track *track, const struct operation *operation);
/* True for warnings about this run or about the watched process. */
bool scope_has_alert(const struct alert *alert, int run);
/* The newest batch that is finished and still kept, or NULL. */
const struct batch *scope_newest(const struct track *track);
/* NULL: it is no longer retained. */
const struct epoch *scope_epoch(const struct run *run, uint32_t ordinal);
/* Sums over the tree's living processes; NAN where none is known. */
double scope_tree_cpu_ratio(const struct model *model);
/* "running", "sleeping", "waiting for disk", …; NULL where it is not known. */
const char *scope_state_name(const struct process *process);

#endif
