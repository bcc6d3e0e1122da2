/* watched_search.h: what to watch on this machine, so that each run is watched once: of a launcher and its ranks the
 * launcher. */
#ifndef PMTOP_SERVING_WATCHED_SEARCH_H
#define PMTOP_SERVING_WATCHED_SEARCH_H

#include <stddef.h>
#include <sys/types.h>

struct watched_target {
	pid_t pid;      /* 0: by name */
	char name[160]; /* NAME.PID of a run that pmtop sees only through its region; "" = by pid */
};

/* Fills the targets of all running runs, at most `max`; returns how many. */
size_t watched_search(struct watched_target *out, size_t max);

#endif
