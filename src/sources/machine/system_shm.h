/* system_shm.h: how much of /dev/shm is the run's: files that a process of its tree has open or mapped, or had, each
 * counted once. */
#ifndef PMTOP_SOURCES_MACHINE_SYSTEM_SHM_H
#define PMTOP_SOURCES_MACHINE_SYSTEM_SHM_H

#include <stdint.h>

#include "src/samples/sample_set.h"

struct system_shm;
struct target;

/* NULL: out of memory, which the others accept. */
struct system_shm *system_shm_new(void);
void system_shm_free(struct system_shm *shm);
/* Where what is used of it has changed noticeably since it was last looked into: looks at the tree's descriptors and
 * maps, as often as costs 0.2 % of a CPU at most, and appends METRIC_SYSTEM_SHM_OWN. Nothing where the processes may
 * not be looked into. A file that was made, written and closed between two looks is not known to be the run's. */
void system_shm_read(
	struct system_shm *shm, const struct target *target, double used_bytes, int64_t now_ns, struct sample_set *out);

#endif
