/* file_aside.h: files whose reader may wait for ever and cannot be killed then, so that pmtop's own process would never
 * end.
 *
 * These are files below /proc and /sys that lie on FUSE (lxcfs serves /proc/stat and others in containers), whose
 * server took a request and never answers. A child reads them for us (remote_reader.h). Any thread. A mapped file
 * cannot do the same to /proc/PID/cmdline and environ: the kernel reads anonymous memory only there (FOLL_ANON,
 * since 4.17). */
#ifndef PMTOP_BASE_FILES_FILE_ASIDE_H
#define PMTOP_BASE_FILES_FILE_ASIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/base/files/hang_watch.h"

/* Is `path` (as for openat) such a file? `whole` is its absolute path then. */
bool file_is_aside(int directory_fd, const char *path, char whole[HANG_PATH_SIZE]);
/* Its first `size` bytes: how many, or −1 and errno; ETIMEDOUT: it does not answer. Waits for HANG_LIMIT_NS at most. */
ssize_t file_aside_read(const char *whole, char *out, size_t size);
/* The same as a descriptor of what is in it now; −1 and errno. */
int file_aside_open(const char *whole);

#endif
