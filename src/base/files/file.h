/* file.h: repeated reads of small files through an open descriptor, and other system calls on /proc, /sys and other
 * users' folders.
 *
 * All reads on the sampler thread go through these functions: a thread whose call never returns can be abandoned
 * (hang_watch.h). Results other than enum status are those of the system call: −1 and errno, with ETIMEDOUT for a file
 * that does not answer. */
#ifndef PMTOP_BASE_FILES_FILE_H
#define PMTOP_BASE_FILES_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include "src/base/status.h"

/* Reads from the start of `fd` into `out` (NUL-terminated, at most size − 1 bytes). Sets *length. STATUS_NOT_FOUND: the
 * process has ended. */
enum status file_reread(int fd, char *out, size_t size, size_t *length);
/* Opens (O_RDONLY|O_CLOEXEC|O_NOCTTY|O_NONBLOCK), reads and closes; `directory_fd` as for openat. */
enum status file_read(int directory_fd, const char *path, char *out, size_t size, size_t *length);
/* openat with O_CLOEXEC. */
int file_open(int directory_fd, const char *path, int flags);
/* read(2). `out` must be memory of the calling thread. */
ssize_t file_read_some(int fd, void *out, size_t size);
/* readlinkat, NUL-terminated. */
ssize_t file_link(int directory_fd, const char *path, char *out, size_t size);
/* fstatat, but fills only device, inode, mode, owner, group, size and blocks. */
int file_stat(int directory_fd, const char *path, struct stat *out, int flags);
int file_space(const char *path, struct statvfs *out);
bool file_is_there(int directory_fd, const char *path);
/* opendir; closed with closedir. */
DIR *file_open_folder(int directory_fd, const char *path);
struct dirent *file_next(DIR *folder);
/* Converts errno: ENOENT/ESRCH/ENOTDIR → NOT_FOUND, EACCES/EPERM → DENIED, ENOMEM → NO_MEMORY, else IO. */
enum status status_of_errno(int error);

#endif
