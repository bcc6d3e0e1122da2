/* system_shm.h: how much of /dev/shm belongs to the run: files that a process of its tree has, or had, open or
 * mapped, or that are named after one (torch_PID_…), each counted once. */
#ifndef PMTOP_SOURCES_MACHINE_SYSTEM_SHM_H
#define PMTOP_SOURCES_MACHINE_SYSTEM_SHM_H

#include <stdint.h>

#include "src/samples/sample_set.h"

struct system_shm;
struct target;

/* NULL: out of memory, which the other calls accept. */
struct system_shm *system_shm_new(void);
void system_shm_free(struct system_shm *shm);
/* If the used part of /dev/shm has changed noticeably since the last scan: scans the tree's descriptors and maps,
 * using 0.2 % of a CPU at most, and emits METRIC_SYSTEM_SHM_OWN. Emits nothing if the processes may not be
 * inspected. A file that was created, written and closed between two scans is attributed to the run only if its name
 * has the pid of a process of the run. */
void system_shm_read(
	struct system_shm *shm, const struct target *target, double used_bytes, int64_t now_ns, struct sample_set *out);

#endif
