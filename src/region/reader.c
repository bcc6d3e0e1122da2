#include "src/region/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "src/region/find.h"
#include "src/region/guard.h"
#include "src/region/header.h"
#include "src/region/region.h"
#include "src/region/tables.h"

/* More than the maximum of lanes and slots in pmtop.h needs. */
#define REGION_SIZE_MAX (INT64_C(2) << 30)

static enum region_status refuse(char *message, enum region_status status, const char *text)
{
	snprintf(message, REGION_MESSAGE_SIZE, "%s", text);
	return status;
}

static enum region_status refuse_errno(char *message, int error)
{
	switch (error) {
	case ENOENT:
	case ESRCH: return refuse(message, REGION_NONE, "region is gone");
	case EACCES:
	case EPERM: return refuse(message, REGION_DENIED, "region may not be read: run as its owner or as root");
	case ELOOP:
	case ENXIO: return refuse(message, REGION_NOT_REGULAR, "region is not a regular file");
	default: snprintf(message, REGION_MESSAGE_SIZE, "region cannot be opened: %s", strerror(error)); return REGION_IO;
	}
}

static enum region_status check_file(
	const struct region_location *location, uid_t owner, const struct stat *file, char *message)
{
	if (!S_ISREG(file->st_mode))
		return refuse(message, REGION_NOT_REGULAR, "region is not a regular file");
	if (location->inode && (file->st_ino != location->inode || file->st_dev != location->device))
		return refuse(message, REGION_NONE, "region's file was replaced");
	if (file->st_uid != owner)
		return refuse(message, REGION_WRONG_OWNER, "region belongs to another user");
	/* A descriptor link still leads to a file that was removed. */
	if (file->st_nlink > 1 || (file->st_nlink == 0 && !location->is_memfd && !location->is_descriptor_link))
		return refuse(message, REGION_WRONG_OWNER, "region has an extra hard link");
	if (file->st_size < (off_t)PMTOP_HEADER_SIZE)
		return refuse(message, REGION_CUT_SHORT, "region was cut short");
	if (file->st_size > REGION_SIZE_MAX)
		return refuse(message, REGION_DAMAGED, "region is larger than 2 GiB");
	return REGION_OK;
}

/* Rejects files with holes on tmpfs: reading a hole through a mapping allocates memory, and a publisher allocates all
 * blocks. On FUSE and NFS a page fault may block for ever. */
static enum region_status check_file_system(int fd, const struct stat *file, char *message)
{
	struct statfs system;
	if (fstatfs(fd, &system))
		return refuse_errno(message, errno);
	if (system.f_type == TMPFS_MAGIC && (uint64_t)file->st_blocks * 512 < (uint64_t)file->st_size)
		return refuse(message, REGION_DAMAGED, "region has holes");
	if (system.f_type == FUSE_SUPER_MAGIC || system.f_type == NFS_SUPER_MAGIC)
		return refuse(message, REGION_DAMAGED, "region is not in memory");
	return REGION_OK;
}

enum region_status location_open(
	const struct region_location *location, uid_t owner, int *fd, uint64_t *size, char message[REGION_MESSAGE_SIZE])
{
	struct stat file;
	int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (location->is_descriptor_link ? 0 : O_NOFOLLOW);
	/* Check before opening: opening a device can have side effects. */
	if (fstatat(AT_FDCWD, location->path, &file, location->is_descriptor_link ? 0 : AT_SYMLINK_NOFOLLOW))
		return refuse_errno(message, errno);
	enum region_status status = check_file(location, owner, &file, message);
	if (status != REGION_OK)
		return status;
	int opened = open(location->path, flags);
	if (opened < 0)
		return refuse_errno(message, errno);
	if (fstat(opened, &file))
		status = refuse_errno(message, errno);
	else
		status = check_file(location, owner, &file, message);
	if (status == REGION_OK)
		status = check_file_system(opened, &file, message);
	if (status != REGION_OK) {
		close(opened);
		return status;
	}
	*fd = opened;
	*size = (uint64_t)file.st_size;
	return REGION_OK;
}

static enum region_status map_region(struct region *region, uint64_t file_size, char *message)
{
	ssize_t length = pread(region->fd, &region->header, sizeof region->header, 0);
	if (length != (ssize_t)sizeof region->header)
		return refuse(message, length < 0 ? REGION_IO : REGION_CUT_SHORT,
			length < 0 ? "region cannot be read" : "region was cut short");
	enum region_status status = header_check(&region->header, file_size, region->sections, message);
	if (status != REGION_OK)
		return status;
	region->size = region->header.file_size;
	void *map = mmap(NULL, region->size, PROT_READ, MAP_SHARED, region->fd, 0);
	if (map == MAP_FAILED)
		return refuse(message, errno == ENOMEM ? REGION_NO_MEMORY : REGION_IO, "region cannot be mapped");
	region->map = map;
	guard_install();
	region->guard = guard_add(map, region->size);
	return region->guard < 0 ? refuse(message, REGION_NO_MEMORY, "too many regions are open") : REGION_OK;
}

static void start_cursors(struct region *region)
{
	region->lane_count = (uint32_t)region->sections[PMTOP_SECTION_LANES].count;
	region->slots_per_lane = region->sections[PMTOP_SECTION_SLOTS].count / region->lane_count;
	for (uint32_t i = 0; i < region->lane_count; i++) {
		uint64_t head;
		region_copy_raw(&head, region_entry(region, PMTOP_SECTION_LANES, i), sizeof head);
		region->lanes[i].before = region->lanes[i].position =
			head > region->slots_per_lane ? head - region->slots_per_lane : 0;
	}
}

enum region_status region_open(
	const struct region_location *location, uid_t owner, struct region **out, char message[REGION_MESSAGE_SIZE])
{
	uint64_t file_size = 0;
	struct region *region = calloc(1, sizeof *region);
	if (!region)
		return refuse(message, REGION_NO_MEMORY, "out of memory");
	region->location = *location;
	region->fd = region->guard = -1;
	enum region_status status = location_open(location, owner, &region->fd, &file_size, message);
	if (status == REGION_OK)
		status = map_region(region, file_size, message);
	if (status == REGION_OK) {
		start_cursors(region);
		status = region_cut_or(region, REGION_OK);
		if (status != REGION_OK)
			refuse(message, status, "region was cut short");
	}
	if (status != REGION_OK) {
		region_close(region);
		return status;
	}
	*out = region;
	return REGION_OK;
}

void region_close(struct region *region)
{
	if (!region)
		return;
	if (region->guard >= 0)
		guard_remove(region->guard);
	if (region->map)
		munmap((void *)(uintptr_t)region->map, region->size);
	if (region->fd >= 0)
		close(region->fd);
	free(region);
}

/* -- copying -- */

const unsigned char *region_entry(const struct region *region, enum pmtop_section_type type, uint64_t i)
{
	return region->map + region->sections[type].offset + i * region->sections[type].entry_size;
}

uint32_t region_load(const void *from) { return __atomic_load_n((const uint32_t *)from, __ATOMIC_ACQUIRE); }

uint32_t region_count(const struct region *region, size_t offset_in_state, enum pmtop_section_type type)
{
	uint32_t count = region_load(region_entry(region, PMTOP_SECTION_STATE, 0) + offset_in_state);
	uint64_t max = region->sections[type].count;
	return count <= max ? count : (uint32_t)max;
}

void region_copy_raw(void *to, const void *from, size_t size)
{
	const uint64_t *words = from;
	unsigned char *bytes = to;
	for (size_t i = 0; i < size / sizeof *words; i++) {
		uint64_t word = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
		memcpy(bytes + i * sizeof word, &word, sizeof word);
	}
}

enum region_status region_cut_or(const struct region *region, enum region_status status)
{
	return guard_is_cut(region->guard) ? REGION_CUT_SHORT : status;
}

static int64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

bool region_wait(struct region *region)
{
	enum { SECOND_NS = 1000000000, MAX_NS = 20000000 };
	int64_t now_ns = clock_ns();
	if (now_ns - region->waits_since_ns > SECOND_NS) {
		region->waits_since_ns = now_ns;
		region->waited_ns = 0;
	}
	if (region->waited_ns > MAX_NS)
		return false;
	sched_yield();
	region->waited_ns += clock_ns() - now_ns;
	return true;
}

enum region_status region_copy(struct region *region, void *to, const void *from, size_t size)
{
	enum { TRIES = 110, AT_ONCE = 100 }; /* bounded: a malicious writer can leave the sequence odd */
	uint32_t first = region_load(from);
	bool has_moved = false;
	for (int i = 0; i < TRIES; i++) {
		uint32_t sequence = region_load(from);
		has_moved |= sequence != first;
		if (sequence % 2 == 0) {
			region_copy_raw(to, from, size);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			if (region_load(from) == sequence)
				return region_cut_or(region, REGION_OK);
		}
		if (i >= AT_ONCE && !region_wait(region))
			break;
	}
	if (has_moved || region_is_live(region, -1))
		return region_cut_or(region, REGION_BUSY);
	region_copy_raw(to, from, size);
	return region_cut_or(region, REGION_OK);
}

/* -- identity -- */

static bool lock_holder(const struct region *region, int32_t *pid)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	*pid = 0;
	if (fcntl(region->fd, F_GETLK, &lock) || lock.l_type == F_UNLCK)
		return false;
	*pid = lock.l_pid > 0 ? lock.l_pid : 0; /* 0 or −1: a process in another pid namespace */
	return true;
}

bool region_is_live(const struct region *region, int directory_fd)
{
	int32_t pid;
	struct stat file;
	if (lock_holder(region, &pid))
		return true;
	return directory_fd >= 0 && !fstat(region->fd, &file) && maps_has(directory_fd, file.st_dev, file.st_ino);
}

const char *region_path(const struct region *region) { return region->location.path; }

bool region_is_in_place(const struct region *region)
{
	struct stat there, here;
	if (region->location.is_memfd || region->location.is_descriptor_link)
		return true;
	return !fstat(region->fd, &here) && !lstat(region->location.path, &there) && here.st_dev == there.st_dev &&
		here.st_ino == there.st_ino;
}

enum region_status region_identify(struct region *region, struct region_identity *out)
{
	const struct pmtop_header *header = &region->header;
	struct region_state ignored;
	enum region_status status = region_read_state(region, &ignored);
	if (status != REGION_OK)
		return status;
	memset(out, 0, sizeof *out);
	out->abi_major = header->abi_major;
	out->abi_minor = header->abi_minor;
	memcpy(out->uuid, header->uuid, sizeof out->uuid);
	memcpy(out->parent_uuid, header->parent_uuid, sizeof out->parent_uuid);
	memcpy(out->boot_id, header->boot_id, sizeof out->boot_id);
	out->pid = header->pid;
	out->uid = header->uid;
	out->start_ns = (int64_t)header->start_ns;
	out->start_realtime_ns = (int64_t)header->start_realtime_ns;
	memcpy(out->run_name, region->state.run_name, sizeof out->run_name - 1);
	out->is_live = lock_holder(region, &out->writer_pid);
	return REGION_OK;
}

/* The "monotonic" line of a timens_offsets file; 0 if there is none. */
static int64_t monotonic_offset_ns(int directory_fd, const char *path)
{
	char text[256];
	long long seconds, nanoseconds;
	int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	const char *line = strstr(text, "monotonic");
	return line && sscanf(line, "monotonic %lld %lld", &seconds, &nanoseconds) == 2 ? seconds * 1000000000 + nanoseconds
																					: 0;
}

int64_t region_clock_offset_ns(const struct region *region, int directory_fd)
{
	struct stat theirs, ours;
	(void)region; /* all regions of version 1 use CLOCK_MONOTONIC */
	if (directory_fd < 0)
		return 0;
	/* timens_offsets has the offsets for the process's children. They apply to the process itself only if it is in
	 * another time namespace than pmtop. */
	if (!fstatat(directory_fd, "ns/time", &theirs, 0) && !stat("/proc/self/ns/time", &ours) &&
		theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev)
		return 0;
	return monotonic_offset_ns(AT_FDCWD, "/proc/self/timens_offsets") -
		monotonic_offset_ns(directory_fd, "timens_offsets");
}
