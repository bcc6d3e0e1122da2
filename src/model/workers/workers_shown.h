/* workers_shown.h: DataLoader workers as text, and in the order in which they are shown. */
#ifndef PMTOP_MODEL_WORKERS_WORKERS_SHOWN_H
#define PMTOP_MODEL_WORKERS_WORKERS_SHOWN_H

#include <stddef.h>
#include <stdint.h>

#include "src/model/workers/workers.h"

/* The workers of a run (−1: of the whole tree), sorted by id, then pid; sets *count, at most WORKERS_MAX. Valid until
 * the next model_apply. */
const struct worker_shown *model_workers(const struct model *model, int run, size_t *count);
void model_worker_group_now(const struct model *model, int run, struct worker_group_now *out);

/* "busy", "idle", "disk", "stopped", "sleeping", "gone". */
const char *worker_state_name(enum worker_state state);
/* The owner of a process: its nearest ancestor that publishes a run, else the target; 0 = unknown. */
int32_t model_owner(const struct model *model, int32_t pid);
/* Updates the list of workers to show, and their states. */
void model_show_workers(struct model *model);

#endif
