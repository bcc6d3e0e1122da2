#include "src/region/find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "src/region/reader.h"
#include "src/region/region.h"

enum { PROC_BUFFER_SIZE = 4096 };

/* A line of /proc/PID/maps: "low-high perms offset major:minor inode path". */
struct mapping {
	unsigned long low, high;
	uint64_t device, inode;
	bool is_shared;
	char path[REGION_PATH_SIZE];
};

static bool parse_mapping(const char *line, struct mapping *out)
{
	char permissions[8];
	unsigned major_number, minor_number;
	unsigned long long inode;
	int path_at = 0;
	if (sscanf(line, "%lx-%lx %7s %*x %x:%x %llu %n", &out->low, &out->high, permissions, &major_number, &minor_number,
			&inode, &path_at) != 6 ||
		!inode)
		return false;
	out->device = makedev(major_number, minor_number);
	out->inode = inode;
	out->is_shared = strchr(permissions, 's') != NULL;
	snprintf(out->path, sizeof out->path, "%s", path_at ? line + path_at : "");
	out->path[strcspn(out->path, "\n")] = '\0';
	return true;
}

/* Each read returns up to a page; the default buffer of stdio for these files is a quarter of that. */
static FILE *open_at(int directory_fd, const char *name, char buffer[PROC_BUFFER_SIZE])
{
	int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	if (fd >= 0 && !file)
		close(fd);
	if (file)
		setvbuf(file, buffer, _IOFBF, PROC_BUFFER_SIZE);
	return file;
}

bool maps_has(int directory_fd, uint64_t device, uint64_t inode)
{
	char buffer[PROC_BUFFER_SIZE];
	FILE *maps = open_at(directory_fd, "maps", buffer);
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	struct mapping mapping;
	while (maps && !found && getline(&line, &size, maps) > 0)
		found = parse_mapping(line, &mapping) && mapping.device == device && mapping.inode == inode;
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

/* A FUSE server can block its clients for ever, so files on FUSE are not accepted as regions. */
static bool is_on_fuse(int directory_fd, uint64_t device)
{
	char buffer[PROC_BUFFER_SIZE];
	FILE *mounts = open_at(directory_fd, "mountinfo", buffer);
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	while (mounts && !found && getline(&line, &size, mounts) > 0) {
		unsigned major_number, minor_number;
		const char *type = strstr(line, " - ");
		found = type && !strncmp(type, " - fuse", 7) &&
			sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) == 2 &&
			makedev(major_number, minor_number) == device;
	}
	free(line);
	if (mounts)
		fclose(mounts);
	return found;
}

/* The process's identity in its own namespace, which a region's header must match. */
struct self {
	int32_t pid;
	uint64_t pid_namespace;
};

static struct self self_of(int directory_fd, pid_t pid)
{
	struct self self = { .pid = (int32_t)pid };
	struct stat status;
	char buffer[PROC_BUFFER_SIZE];
	FILE *file = open_at(directory_fd, "status", buffer);
	char *line = NULL;
	size_t size = 0;
	while (file && getline(&line, &size, file) > 0) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		for (const char *number = line + 6; (number = strpbrk(number, "0123456789"));
			 number += strspn(number, "0123456789"))
			self.pid = (int32_t)strtol(number, NULL, 10);
		break;
	}
	free(line);
	if (file)
		fclose(file);
	if (!fstatat(directory_fd, "ns/pid", &status, 0))
		self.pid_namespace = status.st_ino;
	return self;
}

/* *is_unfilled: its writer has not written its header yet. */
static bool is_own(const struct region_location *location, const struct self *self, bool *is_unfilled)
{
	struct pmtop_header header;
	char message[REGION_MESSAGE_SIZE];
	struct stat file;
	uint64_t size;
	int fd;
	if (stat(location->path, &file) || location_open(location, file.st_uid, &fd, &size, message) != REGION_OK)
		return false;
	bool is_header = pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
		!memcmp(header.magic, PMTOP_MAGIC, sizeof header.magic);
	close(fd);
	*is_unfilled |= !is_header;
	return is_header && header.pid == self->pid &&
		(!header.pid_namespace || !self->pid_namespace || header.pid_namespace == self->pid_namespace);
}

/* A kernel before 4.11 has no statx. AT_STATX_DONT_SYNC: cached attributes, because the descriptor may lead to a FUSE
 * server. */
static bool is_file(int folder_fd, const char *name, bool is_link, const struct mapping *mapping)
{
	int flags = is_link ? 0 : AT_SYMLINK_NOFOLLOW;
	struct statx file;
	struct stat old;
	if (syscall(SYS_statx, folder_fd, name, flags | AT_STATX_DONT_SYNC, STATX_INO, &file) == 0)
		return makedev(file.stx_dev_major, file.stx_dev_minor) == mapping->device && file.stx_ino == mapping->inode;
	return errno == ENOSYS && fstatat(folder_fd, name, &old, flags) == 0 && old.st_dev == mapping->device &&
		old.st_ino == mapping->inode;
}

/* Searches a folder for the mapped file. Follows only the kernel's links (/proc/PID/fd). */
static bool find_in_folder(
	const char *folder, const struct mapping *mapping, bool is_links, struct region_location *out)
{
	DIR *directory = opendir(folder);
	const struct dirent *entry;
	bool found = false;
	while (directory && !found && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.' || !is_file(dirfd(directory), entry->d_name, is_links, mapping))
			continue;
		int length = snprintf(out->path, sizeof out->path, "%s/%s", folder, entry->d_name);
		found = length > 0 && (size_t)length < sizeof out->path;
	}
	if (directory)
		closedir(directory);
	return found;
}

/* Finds a path that opens the mapped file. "/dev/shm/#41 (deleted)" in maps is a region created with O_TMPFILE and
 * linked later. */
static bool locate(const char *process, const struct mapping *mapping, struct region_location *out)
{
	char path[REGION_PATH_SIZE];
	*out = (struct region_location){
		.device = mapping->device, .inode = mapping->inode, .is_memfd = !strncmp(mapping->path, "/memfd:", 7)
	};
	const char *slash = strrchr(mapping->path, '/');
	if (!out->is_memfd && slash) {
		int length = snprintf(path, sizeof path, "%s/root%.*s", process, (int)(slash - mapping->path), mapping->path);
		if (length > 0 && (size_t)length < sizeof path && find_in_folder(path, mapping, false, out))
			return true;
	}
	out->is_descriptor_link = true;
	if (snprintf(path, sizeof path, "%s/fd", process) < (int)sizeof path && find_in_folder(path, mapping, true, out))
		return true;
	struct stat file;
	int length = snprintf(out->path, sizeof out->path, "%s/map_files/%lx-%lx", process, mapping->low, mapping->high);
	return length > 0 && (size_t)length < sizeof out->path && !stat(out->path, &file);
}

static bool may_be_region(const struct mapping *mapping)
{
	return mapping->is_shared && mapping->high - mapping->low >= PMTOP_HEADER_SIZE &&
		(strstr(mapping->path, "/memfd:pmtop") || strstr(mapping->path, "/#") || strstr(mapping->path, "/pmtop."));
}

static bool is_known(const struct region_location *known, size_t count, const struct mapping *mapping)
{
	for (size_t i = 0; i < count; i++)
		if (known[i].device == mapping->device && known[i].inode == mapping->inode)
			return true;
	return false;
}

size_t region_find(int directory_fd, pid_t pid, struct region_location *out, size_t max, bool *is_unfilled)
{
	char link[64], process[128];
	snprintf(link, sizeof link, "/proc/self/fd/%d", directory_fd);
	ssize_t length = readlink(link, process, sizeof process - 1);
	if (length <= 0)
		return 0;
	process[length] = '\0';
	*is_unfilled = false;
	struct self self = self_of(directory_fd, pid);
	char buffer[PROC_BUFFER_SIZE];
	FILE *maps = open_at(directory_fd, "maps", buffer);
	char *line = NULL;
	size_t size = 0, count = 0;
	struct mapping mapping;
	while (maps && count < max && getline(&line, &size, maps) > 0) {
		/* Most lines are libraries: skip them before parsing. */
		if ((!strstr(line, "pmtop") && !strstr(line, "/#")) || !parse_mapping(line, &mapping) ||
			!may_be_region(&mapping) || is_known(out, count, &mapping))
			continue;
		if (!is_on_fuse(directory_fd, mapping.device) && locate(process, &mapping, &out[count]) &&
			is_own(&out[count], &self, is_unfilled))
			count++;
	}
	free(line);
	if (maps)
		fclose(maps);
	return count;
}

static bool is_listed(int folder, const char *name, uid_t owner, struct stat *file)
{
	unsigned uid;
	int pid, end = 0;
	return sscanf(name, "pmtop.%u.%d.%*16[0-9a-f]%n", &uid, &pid, &end) == 2 && end && !name[end] &&
		!fstatat(folder, name, file, AT_SYMLINK_NOFOLLOW) && (owner == REGION_ANYBODY || file->st_uid == owner);
}

size_t region_list(const char *shm_directory, uid_t owner, struct region_location *out, size_t max)
{
	DIR *directory = opendir(shm_directory);
	const struct dirent *entry;
	size_t count = 0;
	while (directory && count < max && (entry = readdir(directory))) {
		struct stat file;
		if (!is_listed(dirfd(directory), entry->d_name, owner, &file))
			continue;
		struct region_location *location = &out[count];
		*location = (struct region_location){ .device = file.st_dev, .inode = file.st_ino };
		int length = snprintf(location->path, sizeof location->path, "%s/%s", shm_directory, entry->d_name);
		if (length > 0 && (size_t)length < sizeof location->path)
			count++;
	}
	if (directory)
		closedir(directory);
	return count;
}
