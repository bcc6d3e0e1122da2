/* region_ranks.h: the rank of a region in its run, and the regions of the other ranks. Ranks need not be children of
 * one process: ranks of one run on this machine have the same owner and folder (/dev/shm), and their regions hold
 * the same `run_id`. */
#ifndef PMTOP_SOURCES_REGION_REGION_RANKS_H
#define PMTOP_SOURCES_REGION_REGION_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/region/reader.h"

enum { REGION_RUN_ID_SIZE = 200, REGION_RANKS_CHECKED_MAX = 512 };

struct region_rank {
	char run_id[REGION_RUN_ID_SIZE];
	long rank, world_size;
	int64_t begun_ns; /* CLOCK_REALTIME */
};

/* False if the region holds no rank of a run with several. */
bool region_rank_read(struct region *region, struct region_rank *out);

/* The region of another rank, and its process: pid 0 and directory_fd −1 if it is unknown or has ended. The caller
 * closes the descriptor. */
struct region_other {
	struct region_location location;
	struct region_rank rank;
	bool is_live;
	int64_t start_ns;
	pid_t pid;
	uint64_t start_ticks;
	int directory_fd;
};

/* Which regions were checked already. Zeroed at first. */
struct region_ranks {
	size_t checked_count;
	struct {
		uint64_t device, inode;
	} checked[REGION_RANKS_CHECKED_MAX];
};

/* Finds regions in the folder of `own` that belong to its run and were not returned before: live ones first, then
 * the newest. Fills at most `max`. */
size_t region_ranks_find(struct region_ranks *ranks, const struct region_location *own, const struct region_rank *rank,
	uid_t owner, const char *proc_root, int64_t now_ns, struct region_other *out, size_t max);

#endif
