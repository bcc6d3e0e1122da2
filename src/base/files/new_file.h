/* new_file.h: a file that pmtop makes: never written through a link that somebody else put there, and read by its owner
 * only.
 *
 * One that replaces another is written beside it, under a random name, and takes its name once it is whole: who reads
 * meets the old one or the new one, and of several that are written at once the last stays. What is no regular file (a
 * device, a FIFO, /dev/stdout) is written as it is. */
#ifndef PMTOP_BASE_FILES_NEW_FILE_H
#define PMTOP_BASE_FILES_NEW_FILE_H

#include <stdbool.h>
#include <sys/types.h>

enum { NEW_FILE_PATH_SIZE = 4096, NEW_FILE_PRIVATE = 0600, NEW_FILE_PUBLIC = 0644 };

struct new_file {
	int fd;
	char path[NEW_FILE_PATH_SIZE];   /* its name in the end, links followed */
	char beside[NEW_FILE_PATH_SIZE]; /* what it is called until then; empty: written straight */
};

/* `mode`: one of the above; the umask may take more. One that is replaced and is the caller's own leaves its mode. 0,
 * or errno. */
int new_file_open(struct new_file *file, const char *path, mode_t mode);
/* Closes it and gives it its name. 0, or errno: then what was there before still is. */
int new_file_keep(struct new_file *file);
/* Closes it and takes it away. */
void new_file_drop(struct new_file *file);
/* All in one. 0, or errno. */
int new_file_write(const char *path, mode_t mode, const void *bytes, size_t length);

/* A file that must not be there yet, for its owner only. A descriptor, or −1 and errno. */
int new_file_create(const char *path);

#endif
