/* cgroup_find.h: the cgroup of a process and the folder to read it from. /proc/PID/cgroup names the cgroup for each
 * controller (cgroups(7)), mountinfo the mount. Both depend on the namespace of the reader, so pmtop's own mounts
 * are tried first, then those of the process. */
#ifndef PMTOP_SOURCES_PROC_CGROUP_FIND_H
#define PMTOP_SOURCES_PROC_CGROUP_FIND_H

#include <stdbool.h>
#include <stddef.h>

enum { CGROUP_PATH_SIZE = 4096, CGROUP_TEXT_SIZE = 64 * 1024 };

struct cgroup_location {
	unsigned version;            /* 1, 2; 0 = not found */
	size_t top_length;           /* of the path: the mount point, above which nothing is visible */
	char path[CGROUP_PATH_SIZE]; /* its folder */
};

/* Finds the folder of the controller ("memory", "cpu") for the process. `cgroups`: the text of /proc/PID/cgroup;
 * `scratch`: of CGROUP_TEXT_SIZE bytes. */
bool cgroup_find(const char *proc_root, int pid, const char *cgroups, const char *controller, char *scratch,
	struct cgroup_location *out);
/* Cuts the last folder off; false at the top. */
bool cgroup_go_up(struct cgroup_location *location);

#endif
