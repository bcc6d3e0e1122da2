/* recorder_disk.h: the files of a recording, or the pipe of a stream. Private to src/collect; recorder thread only. */
#ifndef PMTOP_COLLECT_RECORDER_DISK_H
#define PMTOP_COLLECT_RECORDER_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/status.h"
#include "src/collect/recorder.h"

enum { DISK_PATH_SIZE = 4096 };

/* Consecutive complete blocks, written at once. */
struct chunk {
	struct chunk *next;
	struct buffer bytes;
	unsigned blocks;
	bool begins_file; /* begins the next file */
	bool is_dictionary;
	uint64_t number; /* of its first block, with time_ns */
	int64_t time_ns;
};

struct disk {
	int fd;                    /* −1: closed */
	bool is_file;              /* a named file: it can be truncated, continued in another file and closed by an index */
	char path[DISK_PATH_SIZE]; /* of the first file */
	unsigned file;             /* number in the name of the current file */
	uint64_t max_bytes;
	struct recorder_state state; /* all but `dropped` */
	uint64_t offset;             /* size of the file's complete blocks */
	int64_t synced_ns;
	size_t entry_count, entry_room;
	struct stream_entry *entries;
	uint64_t next_number;
	int64_t last_ns;
};

/* On failure nothing is open. */
enum status disk_open(struct disk *disk, const char *path, uint64_t max_bytes, struct reason *why_not);
/* Takes over `fd`. */
void disk_open_fd(struct disk *disk, int fd);
/* Writes nothing once state.stopped_ns is set: the file is closed then, and a reader that follows it sees the lock
 * released. */
void disk_write(struct disk *disk, const struct chunk *chunk);
/* Writes the index, unless there was a write error, and closes the file. */
void disk_end(struct disk *disk);
void disk_release(struct disk *disk);

struct reason;
struct recorder_options;

/* Checks in advance whether recorder_open would succeed; the same errors. */
enum status recorder_check(const char *path, const struct recorder_options *options, struct reason *why_not);
/* run.pmtop, run.1.pmtop, run.2.pmtop */
void recorder_path(const char *path, unsigned file, char *out, size_t size);

#endif
