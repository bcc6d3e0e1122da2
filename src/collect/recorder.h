/* recorder.h: a stream into a file, written on a thread of its own, so that no disk is ever waited for.
 *
 *   main thread: recorder_add → bytes → bounded queue → (recorder thread) one write a block, fdatasync about each second
 *
 * What the queue does not take is dropped and counted: the numbers of the blocks tell a reader. When the disk refuses, the file is cut behind its
 * last whole block and recording is over; the reason is kept. The file is locked while it grows: a second recorder is refused. */
#ifndef PMTOP_COLLECT_RECORDER_H
#define PMTOP_COLLECT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/stream.h"

enum { RECORDER_WHY_SIZE = 256 };

struct recorder_options {
	uint64_t file_bytes;         /* go on in another file (run.1.pmtop, run.2.pmtop, …) from so many bytes on; 0 = never */
	uint64_t queue_bytes;        /* of what waits to be written; 0 = 16 MiB */
};

struct recorder_state {
	uint64_t bytes, blocks;      /* written, in all files */
	uint64_t dropped;            /* sets for which there was no room */
	unsigned files;
	int64_t stopped_ns;          /* realtime; 0 = it goes on */
	char why[RECORDER_WHY_SIZE]; /* why it stopped: "no space left on device: whole up to then" */
};

struct recorder;

/* The file must not be there yet. STATUS_INVALID where it is (being recorded or not), else why the system refused. */
enum status recorder_open(const char *path, const struct stream_header *header, const struct recorder_options *options, struct recorder **out,
	struct reason *why_not);
/* Main thread; never blocks. `kind` as stream_write_set. Its bytes; 0: it was dropped. */
size_t recorder_add(struct recorder *recorder, enum block_kind kind, const struct sample_set *set);
void recorder_look(struct recorder *recorder, struct recorder_state *out);
/* Writes what waits (for at most some seconds), then the index. *out as it was in the end; may be NULL. */
void recorder_close(struct recorder *recorder, struct recorder_state *out);

#endif
