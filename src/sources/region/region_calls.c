#include "src/sources/region/region_calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "src/base/files/file.h"
#include "src/base/files/file_aside.h"
#include "src/base/files/hang_watch.h"
#include "src/region/find.h"
#include "src/sources/proc/proc_file.h"

enum { LISTED_MAX = 512, STATUS_SIZE = 16 * 1024 };

/* Finds regions without the process's maps: by the lock that it holds on them. */
static size_t find_by_lock(pid_t pid, struct region_location *out, size_t max)
{
	struct region_location *all = calloc(LISTED_MAX, sizeof *all);
	size_t listed = all ? region_list("/dev/shm", REGION_ANYBODY, all, LISTED_MAX) : 0, count = 0;
	for (size_t i = 0; i < listed && count < max; i++) {
		char message[REGION_MESSAGE_SIZE];
		struct region *region;
		struct region_identity identity;
		struct stat file;
		if (lstat(all[i].path, &file) != 0 || region_open(&all[i], file.st_uid, &region, message) != REGION_OK)
			continue;
		if (region_identify(region, &identity) == REGION_OK && identity.is_live && identity.writer_pid == pid)
			out[count++] = all[i];
		region_close(region);
	}
	free(all);
	return count;
}

/* A file that is known to block is not read at all. */
static bool begin(int directory_fd, const char *path)
{
	char whole[HANG_PATH_SIZE];
	return !file_is_aside(directory_fd, path, whole) && hang_begin(directory_fd, path);
}

size_t region_calls_find(int directory_fd, pid_t pid, struct region_location *out, size_t max, bool *is_unfilled)
{
	*is_unfilled = false;
	if (!begin(directory_fd, "maps"))
		return find_by_lock(pid, out, max);
	size_t count = region_find(directory_fd, pid, out, max, is_unfilled);
	hang_end();
	return count;
}

size_t region_calls_list(const char *folder, uid_t owner, struct region_location *out, size_t max)
{
	if (!begin(AT_FDCWD, folder))
		return 0;
	size_t count = region_list(folder, owner, out, max);
	hang_end();
	return count;
}

uid_t region_calls_owner(const struct region_location *location, int directory_fd, uid_t otherwise)
{
	char text[STATUS_SIZE];
	size_t length;
	uint64_t uid;
	struct stat file;
	int flags = location->is_descriptor_link ? 0 : AT_SYMLINK_NOFOLLOW;
	if (file_stat(AT_FDCWD, location->path, &file, flags) == 0 && file.st_uid == 0)
		return 0;
	bool is_known =
		file_read(directory_fd, "status", text, sizeof text, &length) == STATUS_OK && proc_field(text, "Uid", 1, &uid);
	return is_known ? (uid_t)uid : otherwise;
}

enum region_status region_calls_open(
	const struct region_location *location, uid_t owner, struct region **out, char message[REGION_MESSAGE_SIZE])
{
	if (!begin(AT_FDCWD, location->path)) {
		snprintf(message, REGION_MESSAGE_SIZE, "reading %.50s does not return", location->path);
		return REGION_IO;
	}
	enum region_status status = region_open(location, owner, out, message);
	hang_end();
	return status;
}

bool region_calls_is_live(const struct region *region, int directory_fd)
{
	if (directory_fd < 0)
		return region_is_live(region, directory_fd);
	if (!begin(directory_fd, "maps"))
		return true;
	bool is_live = region_is_live(region, directory_fd);
	hang_end();
	return is_live;
}

bool region_calls_is_in_place(const struct region *region)
{
	const char *path = region_path(region);
	if (!begin(AT_FDCWD, path))
		return true;
	bool is_in_place = region_is_in_place(region);
	hang_end();
	return is_in_place;
}

int64_t region_calls_clock_offset_ns(const struct region *region, int directory_fd)
{
	if (directory_fd < 0 || !begin(directory_fd, "timens_offsets"))
		return 0;
	int64_t offset_ns = region_clock_offset_ns(region, directory_fd);
	hang_end();
	return offset_ns;
}
