/* recorder.h: a stream into a file or a pipe, written on a thread of its own, so that no disk and no reader is ever
 * waited for.
 *
 *   main thread: recorder_add → bytes → bounded queue → (recorder thread) one write a block, fdatasync about each
 * second
 *
 * What the queue does not take is dropped and counted: the numbers of the blocks tell a reader. When the disk refuses,
 * the file is cut behind its last whole block and recording is over; the reason is kept. The file is locked while it
 * grows: a second recorder is refused. Where clocks were set, or the machine was suspended, the next dictionary follows
 * a header that dates what comes. */
#ifndef PMTOP_COLLECT_RECORDER_H
#define PMTOP_COLLECT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/stream.h"

enum { RECORDER_WHY_SIZE = 256 };

struct recorder_options {
	/* go on in another file (run.1.pmtop, run.2.pmtop, …) from so many bytes on; 0 = never */
	uint64_t file_bytes;
	uint64_t max_bytes;   /* all files together have at most so many; 0 = no limit */
	uint64_t queue_bytes; /* of what waits to be written; 0 = 16 MiB */
	int close_ms;         /* for how long recorder_close waits; 0 = 5 s */
};

struct recorder_state {
	uint64_t bytes, blocks; /* written, in all files; bytes with their indexes */
	uint64_t dropped;       /* sets for which there was no room */
	unsigned files;
	int64_t stopped_ns;          /* realtime, when it stopped by itself; 0 = it did not */
	int error;                   /* errno of that; 0 = the size asked for was reached */
	char why[RECORDER_WHY_SIZE]; /* "no space left on device: whole up to then" */
};

struct recorder;

/* The file must not be there yet. STATUS_INVALID where it is (being recorded or not), else why the system refused. */
enum status recorder_open(const char *path, const struct stream_header *header, const struct recorder_options *options,
	struct recorder **out, struct reason *why_not);
/* Into what is open already, such as standard output: no index, no other files. Takes `fd`, also where it fails. */
enum status recorder_open_fd(int fd, const struct stream_header *header, const struct recorder_options *options,
	struct recorder **out, struct reason *why_not);
/* Whether recorder_open would find the place free, before there is a header; the same refusals. */
enum status recorder_check(const char *path, const struct recorder_options *options, struct reason *why_not);
/* Main thread; never blocks. `kind` as stream_write_set. Its bytes; 0: it was dropped. */
size_t recorder_add(struct recorder *recorder, enum block_kind kind, const struct sample_set *set);
void recorder_read(struct recorder *recorder, struct recorder_state *out);
/* The file has the size after which another is begun: with the next dictionary. */
bool recorder_wants_dictionary(const struct recorder *recorder);
/* Nothing more will be added; what waits is written meanwhile, then the index. */
void recorder_finish(struct recorder *recorder);
/* After recorder_finish: waits until all is written; false: it is not after so long. */
bool recorder_wait(struct recorder *recorder, int timeout_ms);
/* recorder_finish, a wait of at most some seconds, and its end. *out as it was in the end; may be NULL. */
void recorder_close(struct recorder *recorder, struct recorder_state *out);
/* run.pmtop, run.1.pmtop, run.2.pmtop */
void recorder_path(const char *path, unsigned file, char *out, size_t size);

#endif
