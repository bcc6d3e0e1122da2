/* file_aside.h: files whose reader may block for ever and cannot be killed then. pmtop must not read them itself, or it
 * could never exit.
 *
 * These are files below /proc and /sys on a FUSE mount (lxcfs serves /proc/stat and others in containers) whose server
 * accepts a request and never answers. A child process reads them (remote_reader.h). May be called from any thread.
 * /proc/PID/cmdline and environ cannot block this way through a mapped file: the kernel reads only anonymous memory
 * there (FOLL_ANON, since 4.17). */
#ifndef PMTOP_BASE_FILES_FILE_ASIDE_H
#define PMTOP_BASE_FILES_FILE_ASIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/base/files/hang_watch.h"

/* Is `path` (as for openat) such a file? If so, `whole` is its absolute path. */
bool file_is_aside(int directory_fd, const char *path, char whole[HANG_PATH_SIZE]);
/* Reads its first `size` bytes. Returns the number of bytes, or −1 and errno (ETIMEDOUT: it does not answer). Waits for
 * HANG_LIMIT_NS at most. */
ssize_t file_aside_read(const char *whole, char *out, size_t size);
/* Returns a descriptor (a memfd) of its content as it is now, or −1 and errno. */
int file_aside_open(const char *whole);

#endif
