/* recording.h: decides what is written when to a recording or stream: its header, the sets, flags set by hand, and a
 * dictionary about once a second.
 *
 *   session_take → recording_note(set) → recorder → a file, or standard output
 *
 * A recording from the start of a session begins with the first reading, which is complete; a later one begins with a
 * snapshot. Only recording_end waits for the disk. Main thread only. */
#ifndef PMTOP_PLAYBACK_RECORDING_H
#define PMTOP_PLAYBACK_RECORDING_H

#include <stdbool.h>

#include "src/collect/collector.h"
#include "src/collect/recorder.h"
#include "src/samples/stream.h"

enum { RECORDING_PATH_SIZE = 4096 };

/* The recorded process. */
struct recording_subject {
	int32_t pid;
	uint64_t start_ticks;
	const char *command;
};

struct recording {
	struct recorder *recorder;      /* NULL: none */
	char path[RECORDING_PATH_SIZE]; /* of this or the last recording; empty: none, or a pipe */
	struct recorder_state state;    /* at the last recording_read; also valid after the end */
	int64_t begun_ns, last_ns;      /* times of the first and of the newest set; 0 = none yet */
	bool is_begun, is_asked;        /* the first dictionary has been added; the collector was asked for a snapshot */
	bool wants_all;                 /* the next dictionary is to be complete, as the first */
	bool has_dropped;               /* sets were dropped since the last dictionary */
	/* ended, but not yet written to the disk; recording_has_stopped has returned true */
	bool is_finishing, is_emitted;
	int64_t emitted_ns; /* time and bytes of the last dictionary */
	size_t emitted_bytes;
	size_t bytes; /* written since the last dictionary */
};

/* Fills in the process, the host and the clocks. */
void recording_header(const struct recording_subject *subject, struct stream_header *out);
/* "pmtop-NAME-PID-DATE.pmtop": safe in any shell. */
void recording_name(const char *name, int32_t pid, int64_t realtime_ns, char *out, size_t size);
enum status recording_begin(struct recording *recording, const char *path, const struct recording_subject *subject,
	const struct recorder_options *options, struct reason *why_not);
/* The same to `fd`, which it takes over. */
enum status recording_begin_fd(
	struct recording *recording, int fd, const struct recording_subject *subject, struct reason *why_not);
/* Whether a recording is in progress. */
bool recording_goes_on(const struct recording *recording);
/* Adds the next set of the collector, and asks the collector for a snapshot when a dictionary is due. emits_all: the
 * set is a snapshot or the first reading. */
void recording_note(
	struct recording *recording, struct collector *collector, const struct sample_set *set, bool emits_all);
/* Adds that a person flagged or unflagged a batch of the region `run`; the ordinal is within its mode. */
void recording_flag(struct recording *recording, unsigned run, uint32_t mode, uint64_t ordinal, bool is_flagged);
/* Updates `state`; to be called regularly. */
void recording_read(struct recording *recording);
/* True once, when it has stopped by itself: "recording stopped 14:02: no space left on device; complete up to then". */
bool recording_has_stopped(struct recording *recording, struct reason *why);
/* Ends the recording; the recorder writes its buffer meanwhile. */
void recording_finish(struct recording *recording);
/* Ends the recording and waits for the disk, at most some seconds. Does nothing if there is none. */
void recording_end(struct recording *recording);

/* Asks for a complete dictionary soon: a reader has come late. */
void recording_ask_all(struct recording *recording, struct collector *collector);

#endif
