/* new_file.h: creates and replaces files safely: never through a link that another user planted, and readable by its
 * owner only.
 *
 * A replacement is written beside the old file under a random name and renamed once it is complete. Readers see the old
 * file or the new one, and the last of several writers wins. Anything but a regular file (a device, a FIFO,
 * /dev/stdout) is written directly. */
#ifndef PMTOP_BASE_FILES_NEW_FILE_H
#define PMTOP_BASE_FILES_NEW_FILE_H

#include <stdbool.h>
#include <sys/types.h>

enum { NEW_FILE_PATH_SIZE = 4096, NEW_FILE_PRIVATE = 0600, NEW_FILE_PUBLIC = 0644 };

struct new_file {
	int fd;
	char path[NEW_FILE_PATH_SIZE];   /* its final name, links followed */
	char beside[NEW_FILE_PATH_SIZE]; /* its temporary name; empty: written directly */
};

/* `mode`: one of the above, further restricted by the umask. A replacement of the caller's own file gets that file's
 * mode. Returns 0 or an errno. */
int new_file_open(struct new_file *file, const char *path, mode_t mode);
/* Closes the file and renames it to its final name. Returns 0 or an errno; on error the old file is unchanged. */
int new_file_keep(struct new_file *file);
/* Closes and deletes it. */
void new_file_drop(struct new_file *file);
/* Opens, writes, syncs and renames. Returns 0 or an errno. */
int new_file_write(const char *path, mode_t mode, const void *bytes, size_t length);

/* Creates a file that must not exist yet, mode NEW_FILE_PRIVATE. Returns a descriptor, or −1 and errno. */
int new_file_create(const char *path);

#endif
