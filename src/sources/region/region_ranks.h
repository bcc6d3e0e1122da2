/* region_ranks.h: a region's place among the ranks of a run, and where the regions of the others lie. Ranks need not be
 * children of one process: those of one run on this machine have the same owner and folder (/dev/shm), and publish the
 * same `run_id`. */
#ifndef PMTOP_SOURCES_REGION_REGION_RANKS_H
#define PMTOP_SOURCES_REGION_REGION_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/region/reader.h"

enum { REGION_RUN_ID_SIZE = 200, REGION_RANKS_PASSED_MAX = 512 };

struct region_rank {
	char run_id[REGION_RUN_ID_SIZE];
	long rank, world_size;
	int64_t begun_ns; /* CLOCK_REALTIME */
};

/* False where the region publishes no place in a run of several. */
bool region_rank_read(struct region *region, struct region_rank *out);

/* The region of another rank, and its process: pid 0 and directory_fd −1 where it is not known or has ended; the
 * descriptor is the caller's. */
struct region_other {
	struct region_location location;
	struct region_rank rank;
	bool is_live;
	int64_t start_ns;
	pid_t pid;
	uint64_t start_ticks;
	int directory_fd;
};

/* Which regions were looked at already. Zeroed at first. */
struct region_ranks {
	size_t passed_count;
	struct {
		uint64_t device, inode;
	} passed[REGION_RANKS_PASSED_MAX];
};

/* Regions in the folder of `own` that belong to its run and were not given before, the living first, then the newest;
 * fills at most `max`. */
size_t region_ranks_find(struct region_ranks *ranks, const struct region_location *own, const struct region_rank *rank,
	uid_t owner, const char *proc_root, int64_t now_ns, struct region_other *out, size_t max);

#endif
