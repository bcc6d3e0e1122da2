/* file.h: small files that are read again and again, by a kept descriptor. */
#ifndef PMTOP_BASE_FILE_H
#define PMTOP_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"

/* Reads from the start of `fd` into `out` (NUL-terminated, at most size − 1 bytes). *length is set. A process that is gone: STATUS_NOT_FOUND. */
enum status file_reread(int fd, char *out, size_t size, size_t *length);
/* Opens (O_RDONLY|O_CLOEXEC|O_NOCTTY|O_NONBLOCK), reads and closes; `directory_fd` as for openat. */
enum status file_read(int directory_fd, const char *path, char *out, size_t size, size_t *length);
/* errno made a status: ENOENT/ESRCH → NOT_FOUND, EACCES/EPERM → DENIED, ENOMEM → NO_MEMORY, else IO. */
enum status status_of_errno(int error);

#endif
