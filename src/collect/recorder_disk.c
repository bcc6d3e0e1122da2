#include "src/collect/recorder_disk.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/new_file.h"
#include "src/samples/stream_write.h"

#define SYNC_NS NS_PER_S
enum { NAME_SIZE = DISK_PATH_SIZE + 16, FILES_TRIED = 1000 };

/* -- names and locks -- */

void recorder_path(const char *path, unsigned file, char *out, size_t size)
{
	const char *name = strrchr(path, '/'), *end = strrchr(name ? name : path, '.');
	int stem = end && end != path ? (int)(end - path) : (int)strlen(path);
	if (file == 0)
		snprintf(out, size, "%s", path);
	else
		snprintf(out, size, "%.*s.%u%s", stem, path, file, path + stem);
}

static bool is_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool result = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	if (fd >= 0)
		close(fd);
	return result;
}

static void take_lock(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	fcntl(fd, F_OFD_SETLK, &lock);
}

static enum status refuse_existing(const char *path, struct reason *why_not)
{
	return is_locked(path)
		? reason_set(why_not, STATUS_INVALID, "choose another name", "%s is being recorded by another pmtop", path)
		: reason_set(why_not, STATUS_INVALID, "choose another name, or remove it", "%s already exists", path);
}

static enum status refuse_unwritable(const char *path, int error, struct reason *why_not)
{
	return reason_set(why_not, error == EACCES ? STATUS_DENIED : STATUS_IO, "choose another folder",
		"%s cannot be written: %s", path, strerror(error));
}

enum status recorder_check(const char *path, const struct recorder_options *options, struct reason *why_not)
{
	char second[NAME_SIZE], folder[DISK_PATH_SIZE];
	struct stat file;
	if (strlen(path) >= DISK_PATH_SIZE)
		return reason_set(why_not, STATUS_INVALID, "choose a shorter one", "the name of the recording is too long");
	if (lstat(path, &file) == 0)
		return refuse_existing(path, why_not);
	recorder_path(path, 1, second, sizeof second);
	if (options->file_bytes && lstat(second, &file) == 0)
		return refuse_existing(second, why_not);
	const char *slash = strrchr(path, '/');
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	return access(folder, W_OK) == 0 ? STATUS_OK : refuse_unwritable(path, errno, why_not);
}

static int open_new(const char *path)
{
	int fd = new_file_create(path);
	if (fd >= 0)
		take_lock(fd);
	return fd;
}

/* -- writing -- */

static void stop(struct disk *disk, int error, const char *why)
{
	struct recorder_state *state = &disk->state;
	if (state->stopped_ns)
		return;
	state->stopped_ns = clock_realtime_ns();
	state->error = error;
	snprintf(
		state->why, sizeof state->why, state->blocks ? "%s; complete up to then" : "%s; nothing was recorded", why);
	/* Lower case within a sentence: "input/output error". Names such as "RPC" stay. */
	if (islower((unsigned char)state->why[1]))
		state->why[0] = (char)tolower((unsigned char)state->why[0]);
}

static bool write_all(struct disk *disk, const char *bytes, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t written = write(disk->fd, bytes + done, length - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			int error = written < 0 ? errno : ENOSPC;
			/* Readers would skip an incomplete block, but remove it anyway. */
			if (disk->is_file && ftruncate(disk->fd, (off_t)disk->offset) < 0 && error == 0)
				error = errno;
			stop(disk, error, strerror(error));
			return false;
		}
		done += (size_t)written;
	}
	disk->offset += length;
	disk->state.bytes += length;
	return true;
}

static void add_entry(struct disk *disk, const struct chunk *chunk)
{
	if (disk->entry_count == disk->entry_room) {
		size_t room = disk->entry_room ? disk->entry_room * 2 : 256;
		struct stream_entry *entries = realloc(disk->entries, room * sizeof *entries);
		if (!entries)
			return;
		disk->entries = entries;
		disk->entry_room = room;
	}
	disk->entries[disk->entry_count++] = (struct stream_entry){ disk->offset, chunk->number, chunk->time_ns };
}

/* Writes the index of the file, and gives its descriptor to the caller, who closes it: until then it is locked. */
static int finish_file(struct disk *disk)
{
	struct stream_writer writer = { .number = disk->next_number };
	struct buffer out = BUFFER_INIT;
	int fd = disk->fd;
	if (fd < 0)
		return fd;
	stream_write_index(&writer, disk->entries, disk->entry_count, disk->offset, disk->last_ns, &out);
	if (disk->is_file && !disk->state.error && disk->entry_count && !out.failed)
		write_all(disk, out.data, out.length);
	buffer_release(&out);
	stream_writer_release(&writer);
	fdatasync(fd);
	disk->fd = -1;
	disk->entry_count = 0;
	disk->offset = 0;
	return fd;
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

void disk_end(struct disk *disk) { close_file(finish_file(disk)); }

/* Skips numbers of files that exist by now. */
static bool begin_next_file(struct disk *disk)
{
	char path[NAME_SIZE];
	int error = EEXIST;
	for (unsigned tries = 0; disk->fd < 0 && error == EEXIST && tries < FILES_TRIED; tries++) {
		recorder_path(disk->path, ++disk->file, path, sizeof path);
		disk->fd = open_new(path);
		error = disk->fd < 0 ? errno : 0;
	}
	disk->state.files += disk->fd >= 0;
	if (disk->fd < 0)
		stop(disk, error, strerror(error));
	return disk->fd >= 0;
}

/* Counts the index too, which closes the file. */
static bool has_room(const struct disk *disk, const struct chunk *chunk)
{
	uint64_t index_bytes =
		STREAM_BLOCK_HEAD + 2 * sizeof(uint64_t) + (disk->entry_count + 1) * sizeof(struct stream_entry);
	return !disk->max_bytes || disk->state.bytes + chunk->bytes.length + index_bytes <= disk->max_bytes;
}

/* Pipes do not support fdatasync (EINVAL). */
static void sync_at_times(struct disk *disk)
{
	int64_t now_ns = clock_monotonic_ns();
	if (now_ns < disk->synced_ns + SYNC_NS)
		return;
	disk->synced_ns = now_ns;
	if (fdatasync(disk->fd) < 0 && errno != EINVAL && errno != EROFS)
		stop(disk, errno, strerror(errno));
}

/* What is written to a removed file is lost. */
static void stop_if_removed(struct disk *disk)
{
	struct stat file;
	if (!disk->is_file || fstat(disk->fd, &file) != 0 || file.st_nlink > 0)
		return;
	if (!disk->file)
		disk->state.blocks = 0;
	stop(disk, ENOENT, "file removed");
}

void disk_write(struct disk *disk, const struct chunk *chunk)
{
	if (disk->state.stopped_ns)
		return;
	/* The file before is unlocked after the next one has its header: a reader that follows the recording finds it. */
	bool has_room_left = has_room(disk, chunk);
	int former = has_room_left && chunk->begins_file ? finish_file(disk) : -1;
	if (!has_room_left) {
		stop(disk, 0, "size limit reached");
	} else if (!chunk->begins_file || begin_next_file(disk)) {
		if (chunk->is_dictionary)
			add_entry(disk, chunk);
		disk->next_number = chunk->number + chunk->blocks;
		disk->last_ns = chunk->time_ns;
		if (write_all(disk, chunk->bytes.data, chunk->bytes.length)) {
			disk->state.blocks += chunk->blocks;
			sync_at_times(disk);
			stop_if_removed(disk);
		}
	}
	close_file(former);
	if (disk->state.stopped_ns)
		disk_end(disk);
}

/* -- opening -- */

enum status disk_open(struct disk *disk, const char *path, uint64_t max_bytes, struct reason *why_not)
{
	*disk = (struct disk){ .fd = open_new(path), .is_file = true, .max_bytes = max_bytes, .state = { .files = 1 } };
	snprintf(disk->path, sizeof disk->path, "%s", path);
	if (disk->fd >= 0)
		return STATUS_OK;
	return errno == EEXIST ? refuse_existing(path, why_not) : refuse_unwritable(path, errno, why_not);
}

void disk_open_fd(struct disk *disk, int fd)
{
	*disk = (struct disk){ .fd = fd, .state = { .files = 1 } };
	take_lock(fd);
}

void disk_release(struct disk *disk)
{
	if (disk->fd >= 0)
		close(disk->fd);
	free(disk->entries);
}
