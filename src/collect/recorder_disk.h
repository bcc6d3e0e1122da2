/* recorder_disk.h: the files of a recording, or the pipe of a stream: what the recorder's thread writes to. Private to
 * src/collect; one thread. */
#ifndef PMTOP_COLLECT_RECORDER_DISK_H
#define PMTOP_COLLECT_RECORDER_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/collect/recorder.h"

enum { DISK_PATH_SIZE = 4096 };

/* A run of whole blocks that is written at once. */
struct chunk {
	struct chunk *next;
	struct buffer bytes;
	unsigned blocks;
	bool begins_file; /* the first of another file */
	bool is_dictionary;
	uint64_t number; /* of its first block, and when */
	int64_t time_ns;
};

struct disk {
	int fd;                    /* −1: none is open */
	bool is_file;              /* of a name of its own: it can be cut, followed by another and closed by an index */
	char path[DISK_PATH_SIZE]; /* of the first */
	unsigned file;             /* number in the name of the one being written */
	uint64_t max_bytes;
	struct recorder_state state; /* but for `dropped` */
	uint64_t offset;             /* whole blocks in the file */
	int64_t synced_ns;
	size_t place_count, place_room;
	struct stream_place *places;
	uint64_t next_number;
	int64_t last_ns;
};

/* On failure nothing is open. */
enum status disk_open(struct disk *disk, const char *path, uint64_t max_bytes, struct reason *why_not);
/* Takes `fd`. */
void disk_open_fd(struct disk *disk, int fd);
/* Once it has stopped it writes nothing more: state says why, and whoever follows the file learns by its lock that
 * nothing comes. */
void disk_write(struct disk *disk, const struct chunk *chunk);
/* Writes what closes the file, if nothing kept it from being written. */
void disk_end(struct disk *disk);
void disk_release(struct disk *disk);

#endif
