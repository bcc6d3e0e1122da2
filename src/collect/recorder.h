/* recorder.h: writes a stream into a file or a pipe, on its own thread, so that pmtop never waits for a disk or a
 * reader.
 *
 *   main thread: recorder_add → bytes → bounded queue → (recorder thread) one write a block, fdatasync about each
 * second
 *
 * Sets that do not fit into the queue are dropped and counted; readers see the gap in the block numbers. On a write
 * error the file is truncated to its last complete block and recording stops; recorder_state has the reason. The file
 * is locked while it grows, and a second recorder is refused. After the clock was set, or the machine was suspended,
 * the next dictionary is preceded by a header with the new clock offsets. */
#ifndef PMTOP_COLLECT_RECORDER_H
#define PMTOP_COLLECT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/stream.h"

enum { RECORDER_WHY_SIZE = 256 };

struct recorder_options {
	/* continue in another file (run.1.pmtop, run.2.pmtop, …) after this many bytes; 0 = never */
	uint64_t file_bytes;
	uint64_t max_bytes;   /* limit of all files together; 0 = no limit */
	uint64_t queue_bytes; /* limit of the queue; 0 = 16 MiB */
	int close_ms;         /* limit of the wait in recorder_close; 0 = 5 s */
};

struct recorder_state {
	uint64_t bytes, blocks; /* written, in all files; bytes include the indexes */
	uint64_t dropped;       /* sets that did not fit into the queue */
	unsigned files;
	int64_t stopped_ns;          /* CLOCK_REALTIME, when it stopped by itself; 0 = it has not */
	int error;                   /* the errno; 0 = the size limit was reached */
	char why[RECORDER_WHY_SIZE]; /* "no space left on device; complete up to then" */
};

struct recorder;

/* The file must not exist yet. STATUS_INVALID: it exists; other errors: it cannot be written. */
enum status recorder_open(const char *path, const struct stream_header *header, const struct recorder_options *options,
	struct recorder **out, struct reason *why_not);
/* Writes into an open descriptor, such as standard output: no index, no further files. Takes over `fd`, even on
 * failure. */
enum status recorder_open_fd(int fd, const struct stream_header *header, const struct recorder_options *options,
	struct recorder **out, struct reason *why_not);
/* Main thread; never blocks. `kind` as for stream_write_set. Returns the size in bytes; 0: the set was dropped. */
size_t recorder_add(struct recorder *recorder, enum block_kind kind, const struct sample_set *set);
void recorder_read(struct recorder *recorder, struct recorder_state *out);
/* The file has reached file_bytes: the next dictionary begins another one. */
bool recorder_wants_dictionary(const struct recorder *recorder);
/* Call after the last recorder_add: the thread writes the queue and then the index. */
void recorder_finish(struct recorder *recorder);
/* After recorder_finish: waits until everything is written. False: the timeout has expired. */
bool recorder_wait(struct recorder *recorder, int timeout_ms);
/* recorder_finish, recorder_wait for close_ms, and frees the recorder. *out is the final state; `out` may be NULL. */
void recorder_close(struct recorder *recorder, struct recorder_state *out);

#endif
