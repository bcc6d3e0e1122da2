/* own_snapshot.h: decides when pmtop asks by itself for a snapshot of a program's CUDA memory: when a rule with
 * `action: snapshot` raises its warning, and again every OWN_SNAPSHOT_EVERY_S while it lasts, so that two snapshots
 * show which lines grow. A program gives one only if it records a history (pmtop.torch.memory_history()). */
#ifndef PMTOP_SESSION_ASKING_OWN_SNAPSHOT_H
#define PMTOP_SESSION_ASKING_OWN_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/model/model.h"
#include "src/rules/alerts.h"

/* A snapshot stops the program for a moment, and may have gigabytes. */
enum { OWN_SNAPSHOTS_MAX = 3, OWN_SNAPSHOT_EVERY_S = 600 };

struct own_snapshots {
	unsigned taken;   /* answered with a file */
	int64_t asked_ns; /* 0 = not yet */
};

/* The process to ask now, of which `why` is the warning; 0: none. It then counts as asked. */
pid_t own_snapshot_wish(
	struct own_snapshots *own, const struct model *model, const struct alerts *alerts, const char **why);

#endif
