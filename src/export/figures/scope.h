/* scope.h: selects what belongs to a run or a track, so that all formats agree. Internal to src/export. */
#ifndef PMTOP_EXPORT_FIGURES_SCOPE_H
#define PMTOP_EXPORT_FIGURES_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/model/model.h"
#include "src/rules/alerts.h"

/* NULL if `run` is no index into model->runs. */
const struct run *scope_run(const struct model *model, int run);
/* The watched process; without one (a region alone is read), the process that published; 0 = none. */
int32_t scope_pid(const struct model *model, const struct run *run);
/* "train" if no mode was published. */
const char *scope_mode_name(const struct run *run, uint32_t mode);
/* True for rows of the track's mode; for the main track also rows of modes without batches. False for rows without any
 * finished span, because their times are unknown. */
bool scope_is_of_track(const struct run *run, const struct track *track, const struct operation *operation);
/* True for warnings about this run or about the watched process. */
bool scope_has_alert(const struct alert *alert, int run);
/* The newest finished batch that is retained, or NULL. */
const struct batch *scope_newest(const struct track *track);
/* NULL: it is no longer retained. */
const struct epoch *scope_epoch(const struct run *run, uint32_t ordinal);
/* Sums over the tree's living processes; NAN if unknown for all. */
double scope_tree_cpu_ratio(const struct model *model);
/* "running", "sleeping", "waiting for disk", …; NULL = unknown. */
const char *scope_state_name(const struct process *process);

#endif
