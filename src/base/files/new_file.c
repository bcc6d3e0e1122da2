#include "src/base/files/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/kernel.h"

enum { NAMES_TRIED_MAX = 16 };

int new_file_create(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, NEW_FILE_PRIVATE);
}

/* -- the target -- */

/* The length of the path's folder including its slash; 0: the working directory. */
static int folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? (int)(slash - path) + 1 : 0;
}

/* As the kernel's fs.protected_symlinks and protected_fifos (Documentation/admin-guide/sysctl/fs.rst): in a sticky,
 * world-writable folder such as /tmp, trust a link or FIFO only if it belongs to the user or the folder's owner. */
static bool is_trusted(const char *path, const struct stat *link)
{
	char folder[NEW_FILE_PATH_SIZE];
	struct stat about;
	int length = folder_length(path);
	snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
	if (stat(folder, &about) < 0)
		return false;
	bool is_everybodys = (about.st_mode & S_ISVTX) && (about.st_mode & S_IWOTH);
	return !is_everybodys || link->st_uid == geteuid() || link->st_uid == about.st_uid;
}

/* Names of descriptors that are already open. */
static bool is_descriptor(const char *path)
{
	static const char *const names[] = { "/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(path, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Fills `path`. *is_straight: the file is written directly, not replaced. *there: the file that exists; st_mode is 0 if
 * none does. */
static int find_path(struct new_file *file, const char *path, bool *is_straight, struct stat *there)
{
	struct stat link;
	memset(there, 0, sizeof *there);
	*is_straight = is_descriptor(path);
	if (snprintf(file->path, sizeof file->path, "%s", path) >= (int)sizeof file->path)
		return ENAMETOOLONG;
	if (*is_straight || lstat(path, &link) < 0)
		return 0;
	bool is_link = S_ISLNK(link.st_mode);
	if ((!S_ISREG(link.st_mode) && !S_ISDIR(link.st_mode) && !is_trusted(path, &link)) ||
		(is_link && stat(path, there) < 0))
		return 0;
	if (!is_link)
		*there = link;
	if (S_ISDIR(there->st_mode))
		return EISDIR;
	*is_straight = !S_ISREG(there->st_mode);
	char *real = is_link && !*is_straight ? realpath(path, NULL) : NULL;
	if (real)
		snprintf(file->path, sizeof file->path, "%s", real);
	free(real);
	return 0;
}

/* -- writing -- */

static int open_beside(struct new_file *file, mode_t mode)
{
	int error = EEXIST;
	for (int tries = 0; error == EEXIST && tries < NAMES_TRIED_MAX; tries++) {
		uint64_t random;
		if (!kernel_random(&random, sizeof random, true))
			return EIO;
		int length = snprintf(file->beside, sizeof file->beside, "%.*s.pmtop-%016" PRIx64 ".tmp",
			folder_length(file->path), file->path, random);
		if (length >= (int)sizeof file->beside)
			return ENAMETOOLONG;
		file->fd = open(file->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
		error = file->fd < 0 ? errno : 0;
	}
	return error;
}

/* Opens a pipe, a device or a descriptor. EBUSY: the path leads to another file now than at the check. */
static int open_straight(struct new_file *file, const struct stat *there)
{
	struct stat opened;
	file->fd = open(file->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
	if (file->fd < 0)
		return errno;
	if (!there->st_mode ||
		(fstat(file->fd, &opened) == 0 && opened.st_dev == there->st_dev && opened.st_ino == there->st_ino))
		return 0;
	new_file_drop(file);
	return EBUSY;
}

/* pmtop holds a lock on a recording while it writes it. */
static bool is_being_written(const char *path)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool is_locked = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	if (fd >= 0)
		close(fd);
	return is_locked;
}

int new_file_open(struct new_file *file, const char *path, mode_t mode)
{
	struct stat there;
	bool is_straight;
	*file = (struct new_file){ .fd = -1 };
	int error = find_path(file, path, &is_straight, &there);
	if (error)
		return error;
	if (is_straight)
		return open_straight(file, &there);
	if (there.st_mode && is_being_written(file->path))
		return EBUSY;
	error = open_beside(file, mode);
	if (error)
		return error;
	if (there.st_mode && there.st_uid == geteuid() && fchmod(file->fd, there.st_mode & 0777) < 0) {
		error = errno;
		new_file_drop(file);
	}
	return error;
}

int new_file_keep(struct new_file *file)
{
	/* Some file systems report a full disk or quota only at close. */
	int error = close(file->fd) < 0 ? errno : 0;
	file->fd = -1;
	if (!error && file->beside[0] && rename(file->beside, file->path) < 0)
		error = errno;
	if (error && file->beside[0])
		unlink(file->beside);
	return error;
}

void new_file_drop(struct new_file *file)
{
	if (file->fd < 0)
		return;
	close(file->fd);
	file->fd = -1;
	if (file->beside[0])
		unlink(file->beside);
}

int new_file_write(const char *path, mode_t mode, const void *bytes, size_t length)
{
	struct new_file file;
	int error = new_file_open(&file, path, mode);
	for (size_t done = 0; !error && done < length;) {
		ssize_t written = write(file.fd, (const char *)bytes + done, length - done);
		if (written < 0 && errno != EINTR)
			error = errno;
		done += written > 0 ? (size_t)written : 0;
	}
	/* Pipes and devices do not support fsync. */
	if (!error && file.beside[0] && fsync(file.fd) < 0)
		error = errno;
	if (!error)
		return new_file_keep(&file);
	new_file_drop(&file);
	return error;
}
