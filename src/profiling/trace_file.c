#include "src/profiling/trace_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/files/new_file.h"
#include "src/base/text.h"

enum { END_SIZE = 64, CHUNK_SIZE = 64 * 1024 };

enum status trace_folder_make(char out[TRACE_FOLDER_SIZE], const char *parent, uid_t uid, struct reason *why_not)
{
	size_t length = strlen(parent);
	snprintf(
		out, TRACE_FOLDER_SIZE, "%.400s%spmtop-profile-XXXXXX", parent, length && parent[length - 1] == '/' ? "" : "/");
	if (mkdtemp(out) && (uid == geteuid() || lchown(out, uid, (gid_t)-1) == 0))
		return STATUS_OK;
	return reason_set(why_not, errno == EACCES || errno == EPERM ? STATUS_DENIED : STATUS_IO, NULL,
		"no private folder for the trace can be made in %.100s: %s", parent, strerror(errno));
}

void trace_folder_remove(const char *folder)
{
	DIR *opened = opendir(folder);
	for (const struct dirent *entry; opened && (entry = readdir(opened));)
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(opened), entry->d_name, 0);
	if (opened)
		closedir(opened);
	rmdir(folder);
}

/* A trace is one JSON object. */
static bool ends_as_json(int folder_fd, const char *name, off_t *size)
{
	char end[END_SIZE];
	struct stat file;
	int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_file = fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 1;
	off_t begin = is_file && file.st_size > END_SIZE ? file.st_size - END_SIZE : 0;
	ssize_t length = is_file ? pread(fd, end, sizeof end, begin) : 0;
	if (fd >= 0)
		close(fd);
	while (length > 0 && strchr(" \t\r\n", end[length - 1]) && end[length - 1])
		length--;
	*size = is_file ? file.st_size : -1;
	return length > 0 && end[length - 1] == '}';
}

bool trace_folder_find(const char *folder, off_t *size, char *path, size_t path_size)
{
	DIR *opened = opendir(folder);
	bool is_complete = false;
	for (const struct dirent *entry; opened && !is_complete && (entry = readdir(opened));) {
		off_t before = *size;
		if (!text_ends_with(entry->d_name, ".json"))
			continue;
		is_complete = ends_as_json(dirfd(opened), entry->d_name, size) && *size == before;
		snprintf(path, path_size, "%s/%s", folder, entry->d_name);
	}
	if (opened)
		closedir(opened);
	return is_complete;
}

bool trace_file_is_regular(const char *path)
{
	struct stat file;
	return lstat(path, &file) == 0 && S_ISREG(file.st_mode);
}

static int copy(int from, int to)
{
	char *chunk = malloc(CHUNK_SIZE);
	ssize_t length = -1;
	while (chunk && (length = read(from, chunk, CHUNK_SIZE)) > 0)
		for (ssize_t done = 0, more; done < length; done += more)
			if ((more = write(to, chunk + done, (size_t)(length - done))) < 0) {
				free(chunk);
				return -1;
			}
	free(chunk);
	return length == 0 ? 0 : -1;
}

enum status trace_file_move(const char *from, const char *to, struct reason *why_not)
{
	if (rename(from, to) == 0)
		return STATUS_OK;
	int source = errno == EXDEV ? open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	int target = source >= 0 ? new_file_create(to) : -1;
	bool is_copied = target >= 0 && copy(source, target) == 0;
	int error = errno;
	if (source >= 0)
		close(source);
	if (target >= 0 && (close(target) != 0 || !is_copied)) {
		unlink(to);
		is_copied = false;
	}
	if (!is_copied)
		return reason_set(
			why_not, STATUS_IO, "--output=DIR names a folder", "cannot write %.120s: %s", to, strerror(error));
	unlink(from);
	return STATUS_OK;
}
