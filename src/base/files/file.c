#include "src/base/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "src/base/files/file_aside.h"
#include "src/base/files/hang_watch.h"
#include "src/base/kernel.h"

enum status status_of_errno(int error)
{
	switch (error) {
	case ENOENT:
	case ESRCH:
	case ENOTDIR: return STATUS_NOT_FOUND;
	case EACCES:
	case EPERM: return STATUS_DENIED;
	case ENOMEM: return STATUS_NO_MEMORY;
	default: return STATUS_IO;
	}
}

/* The kernel's seq_file returns at most a page per read, so a short read may not be the last. A read of less than half
 * a page is: another read would make the kernel generate the whole file again. */
enum { CERTAIN_END = 2048 };

enum status file_reread(int fd, char *out, size_t size, size_t *length)
{
	size_t used = 0;
	while (used < size - 1) {
		ssize_t got = -1;
		if (hang_begin(fd, "")) {
			got = pread(fd, out + used, size - 1 - used, (off_t)used);
			hang_end();
		}
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
	char whole[HANG_PATH_SIZE];
	if (file_is_aside(directory_fd, path, whole)) {
		ssize_t got = file_aside_read(whole, out, size - 1);
		if (got < 0)
			return status_of_errno(errno);
		out[got] = '\0';
		*length = (size_t)got;
		return STATUS_OK;
	}
	int fd = file_open(directory_fd, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return status_of_errno(errno);
	enum status status = file_reread(fd, out, size, length);
	close(fd);
	return status;
}

int file_open(int directory_fd, const char *path, int flags)
{
	char whole[HANG_PATH_SIZE];
	if (file_is_aside(directory_fd, path, whole)) {
		errno = EOPNOTSUPP;
		return flags & O_DIRECTORY ? -1 : file_aside_open(whole);
	}
	if (!hang_begin(directory_fd, path))
		return -1;
	int fd = openat(directory_fd, path, flags | O_CLOEXEC);
	hang_end();
	return fd;
}

ssize_t file_read_some(int fd, void *out, size_t size)
{
	if (!hang_begin(fd, ""))
		return -1;
	ssize_t length = read(fd, out, size);
	hang_end();
	return length;
}

ssize_t file_link(int directory_fd, const char *path, char *out, size_t size)
{
	if (!hang_begin(directory_fd, path))
		return -1;
	ssize_t length = readlinkat(directory_fd, path, out, size - 1);
	hang_end();
	if (length >= 0)
		out[length] = '\0';
	return length;
}

int file_stat(int directory_fd, const char *path, struct stat *out, int flags)
{
	if (!hang_begin(directory_fd, path))
		return -1;
	struct statx file;
	/* AT_STATX_DONT_SYNC: use the kernel's cached attributes instead of asking the FUSE server. */
	int result =
		kernel_statx(directory_fd, path, flags | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &file);
	hang_end();
	if (result == 0)
		*out = (struct stat){ .st_dev = makedev(file.stx_dev_major, file.stx_dev_minor),
			.st_ino = file.stx_ino,
			.st_mode = file.stx_mode,
			.st_uid = file.stx_uid,
			.st_gid = file.stx_gid,
			.st_size = (off_t)file.stx_size,
			.st_blocks = (blkcnt_t)file.stx_blocks };
	return result;
}

int file_space(const char *path, struct statvfs *out)
{
	if (!hang_begin(AT_FDCWD, path))
		return -1;
	struct statvfs space;
	int result = statvfs(path, &space);
	hang_end();
	if (result == 0)
		*out = space;
	return result;
}

bool file_is_there(int directory_fd, const char *path)
{
	struct stat file;
	return file_stat(directory_fd, path, &file, 0) == 0;
}

DIR *file_open_folder(int directory_fd, const char *path)
{
	int fd = file_open(directory_fd, path, O_RDONLY | O_DIRECTORY);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !folder)
		close(fd);
	return folder;
}

struct dirent *file_next(DIR *folder)
{
	if (!hang_begin(dirfd(folder), ""))
		return NULL;
	struct dirent *entry = readdir(folder);
	hang_end();
	return entry;
}
