/* mounts.h: what is mounted where, from mountinfo (proc_pid_mountinfo(5)). Reading it touches none of the file systems,
 * so a dead server cannot block it. */
#ifndef PMTOP_BASE_FILES_MOUNTS_H
#define PMTOP_BASE_FILES_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

enum { MOUNTS_PATH_SIZE = 1024 };

struct mount {
	char root[MOUNTS_PATH_SIZE],
		point[MOUNTS_PATH_SIZE]; /* unescaped: the part of the file system, and its mount point */
	char type[32];
	char options[256]; /* the super block's; for a cgroup, its controllers */
};

/* False: not a line of mountinfo, or one with a path that is too long. `line` ends with a newline or its NUL. */
bool mount_parse(const char *line, struct mount *out);
/* Finds the mount that holds `path`: the one with the longest mount point, and the last of equal ones, which hides the
 * others. */
bool mounts_find(const char *mountinfo, const char *path, struct mount *out);
/* Is `path` `folder`, or below it? */
bool path_is_below(const char *path, const char *folder);
/* May a read from this mount wait for another machine or process (NFS, FUSE)? */
bool mount_may_hang(const struct mount *mount);

#endif
