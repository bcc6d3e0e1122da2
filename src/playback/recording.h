/* recording.h: when what goes into a recording or a stream: its header, the sets, what a person did, and a dictionary
 * about each second.
 *
 *   session_take → recording_note(set) → recorder → a file, or standard output
 *
 * A recording that is begun with the watch holds its first reading, which tells all; one that is begun later begins
 * with a snapshot. Nothing here waits for a disk but recording_end. Main thread only. */
#ifndef PMTOP_PLAYBACK_RECORDING_H
#define PMTOP_PLAYBACK_RECORDING_H

#include <stdbool.h>

#include "src/collect/collector.h"
#include "src/collect/recorder.h"
#include "src/samples/stream.h"

enum { RECORDING_PATH_SIZE = 4096 };

/* Who is watched. */
struct recording_subject {
	int32_t pid;
	uint64_t start_ticks;
	const char *command;
};

struct recording {
	struct recorder *recorder;      /* NULL: none */
	char path[RECORDING_PATH_SIZE]; /* of the last; empty: there was none, or it went into a pipe */
	struct recorder_state state;    /* when it was last looked at; of the last recording once that has ended */
	int64_t begun_ns, last_ns;      /* times of its first and of its newest set; 0 = none yet */
	bool is_begun, is_asked;        /* its first dictionary has been added; a snapshot has been asked for */
	bool has_dropped;               /* something, since the last dictionary */
	/* it was ended, and is being written to its end; that it stopped by itself has been said */
	bool is_finishing, is_emitted;
	int64_t emitted_ns; /* time, and bytes, of the last dictionary */
	size_t emitted_bytes;
	size_t bytes; /* since */
};

/* Who, and when. */
void recording_header(const struct recording_subject *subject, struct stream_header *out);
/* "pmtop-NAME-PID-DATE.pmtop": safe in any shell. */
void recording_name(const char *name, int32_t pid, int64_t realtime_ns, char *out, size_t size);
enum status recording_begin(struct recording *recording, const char *path, const struct recording_subject *subject,
	const struct recorder_options *options, struct reason *why_not);
/* The same into `fd`, which it takes. */
enum status recording_begin_fd(
	struct recording *recording, int fd, const struct recording_subject *subject, struct reason *why_not);
/* Something is being recorded now. */
bool recording_goes_on(const struct recording *recording);
/* The next set as the collector gave it, which is asked for a snapshot when one is due. emits_all: a snapshot, or the
 * very first reading. */
void recording_note(
	struct recording *recording, struct collector *collector, const struct sample_set *set, bool emits_all);
/* A batch of the region `run` that a person flagged, or unflagged; the ordinal among those of its mode. */
void recording_flag(struct recording *recording, unsigned run, uint32_t mode, uint64_t ordinal, bool is_flagged);
/* Looks how it goes: to be called now and then. */
void recording_read(struct recording *recording);
/* True once, when it has stopped by itself: "recording stopped 14:02: no space left on device; complete up to then". */
bool recording_has_stopped(struct recording *recording, struct reason *why);
/* Ends it; what waits is written meanwhile. */
void recording_finish(struct recording *recording);
/* Ends it and waits for the disk, at most some seconds; nothing where there is none. */
void recording_end(struct recording *recording);

#endif
