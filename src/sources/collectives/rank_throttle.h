/* rank_throttle.h: how long a rank's cgroup has been throttled by its CPU quota. */
#ifndef PMTOP_SOURCES_COLLECTIVES_RANK_THROTTLE_H
#define PMTOP_SOURCES_COLLECTIVES_RANK_THROTTLE_H

#include <stdint.h>
#include <sys/types.h>

/* Zeroed at first. */
struct rank_throttle {
	int64_t search_ns; /* when its cgroup is searched for next */
	char *path;        /* of the cpu.stat that is read; NULL = none */
};

/* In seconds, summed over CPUs: of the cgroup, among its own and those above, that was throttled the longest.
 * NAN: unknown. `process_fd`: the folder of `pid` in `proc_root`, which is "/proc", or that of a test. */
double rank_throttle_read(
	struct rank_throttle *throttle, const char *proc_root, pid_t pid, int process_fd, int64_t now_ns);
void rank_throttle_release(struct rank_throttle *throttle);

#endif
