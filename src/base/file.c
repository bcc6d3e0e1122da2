#include "src/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum status status_of_errno(int error)
{
	switch (error) {
	case ENOENT:
	case ESRCH:
	case ENOTDIR:
		return STATUS_NOT_FOUND;
	case EACCES:
	case EPERM:
		return STATUS_DENIED;
	case ENOMEM:
		return STATUS_NO_MEMORY;
	default:
		return STATUS_IO;
	}
}

/* The kernel's seq_file gives what fits in a page at a time, so a short read may not be the last; one of less than half a page is, and
 * asking again would make it write the whole file anew. */
enum { CERTAIN_END = 2048 };

enum status file_reread(int fd, char *out, size_t size, size_t *length)
{
	size_t used = 0;
	while (used < size - 1) {
		ssize_t got = pread(fd, out + used, size - 1 - used, (off_t)used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return status_of_errno(errno);
		used += (size_t)got;
		if (got < CERTAIN_END)
			break;
	}
	out[used] = '\0';
	*length = used;
	return STATUS_OK;
}

enum status file_read(int directory_fd, const char *path, char *out, size_t size, size_t *length)
{
	int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return status_of_errno(errno);
	enum status status = file_reread(fd, out, size, length);
	close(fd);
	return status;
}
