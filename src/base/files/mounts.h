/* mounts.h: what is mounted where, by mountinfo (proc_pid_mountinfo(5)), which says so without touching any of the file
 * systems: one whose server is gone would not answer. */
#ifndef PMTOP_BASE_FILES_MOUNTS_H
#define PMTOP_BASE_FILES_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

enum { MOUNTS_PATH_SIZE = 1024 };

struct mount {
	char root[MOUNTS_PATH_SIZE], point[MOUNTS_PATH_SIZE]; /* unescaped: which part of the file system stands where */
	char type[32];
	char options[256]; /* the super block's: for a cgroup its controllers */
};

/* False: not a line of mountinfo, or one with a path that is too long. `line` ends with a newline or its NUL. */
bool mount_parse(const char *line, struct mount *out);
/* The mount that holds `path`, by its longest point; of equal ones the last, which hides the others. */
bool mounts_find(const char *mountinfo, const char *path, struct mount *out);
/* Is `path` `folder`, or below it? */
bool path_is_below(const char *path, const char *folder);
/* One that may wait for another machine or another process. */
bool mount_may_hang(const struct mount *mount);

#endif
