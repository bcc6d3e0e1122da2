/* file.h: small files that are read again and again, by a kept descriptor, and what else is asked of /proc, /sys and
 * foreign folders.
 *
 * Every call here may be left behind if it never returns (hang_watch.h), so whoever runs on the sampler thread reads
 * such files with these. Results that are not enum status are those of the system call: −1 and errno, ETIMEDOUT for a
 * file that does not answer. */
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

/* Reads from the start of `fd` into `out` (NUL-terminated, at most size − 1 bytes). *length is set. A process that is
 * gone: STATUS_NOT_FOUND. */
enum status file_reread(int fd, char *out, size_t size, size_t *length);
/* Opens (O_RDONLY|O_CLOEXEC|O_NOCTTY|O_NONBLOCK), reads and closes; `directory_fd` as for openat. */
enum status file_read(int directory_fd, const char *path, char *out, size_t size, size_t *length);
/* openat with O_CLOEXEC. */
int file_open(int directory_fd, const char *path, int flags);
/* read(2). `out` must be memory of the calling thread. */
ssize_t file_read_some(int fd, void *out, size_t size);
/* readlinkat, NUL-terminated. */
ssize_t file_link(int directory_fd, const char *path, char *out, size_t size);
/* fstatat, of which out has device, inode, mode, owner, group, size and blocks. */
int file_stat(int directory_fd, const char *path, struct stat *out, int flags);
int file_space(const char *path, struct statvfs *out);
bool file_is_there(int directory_fd, const char *path);
/* opendir; closed with closedir. */
DIR *file_open_folder(int directory_fd, const char *path);
struct dirent *file_next(DIR *folder);
/* errno made a status: ENOENT/ESRCH → NOT_FOUND, EACCES/EPERM → DENIED, ENOMEM → NO_MEMORY, else IO. */
enum status status_of_errno(int error);

#endif
