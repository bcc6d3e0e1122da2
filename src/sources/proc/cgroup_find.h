/* cgroup_find.h: in which cgroup a process is, and where that can be read: /proc/PID/cgroup says the former for each
 * controller (cgroups(7)), mountinfo the latter. Both are written as whoever reads them sees it, so pmtop's own mounts
 * are tried first, then those of the process. */
#ifndef PMTOP_SOURCES_PROC_CGROUP_FIND_H
#define PMTOP_SOURCES_PROC_CGROUP_FIND_H

#include <stdbool.h>
#include <stddef.h>

enum { CGROUP_PATH_SIZE = 4096, CGROUP_TEXT_SIZE = 64 * 1024 };

struct cgroup_place {
	unsigned version;            /* 1, 2; 0 = not found */
	size_t top_length;           /* of the path: what cannot be looked above */
	char path[CGROUP_PATH_SIZE]; /* its folder */
};

/* Where the controller ("memory", "cpu") of the process is. `cgroups`: the text of /proc/PID/cgroup; `scratch`: of
 * CGROUP_TEXT_SIZE bytes. */
bool cgroup_find(const char *proc_root, int pid, const char *cgroups, const char *controller, char *scratch,
	struct cgroup_place *out);
/* Cuts the last folder off; false at the top. */
bool cgroup_go_up(struct cgroup_place *place);

#endif
