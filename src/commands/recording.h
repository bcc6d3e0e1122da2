/* recording.h: when what goes into a recording or a stream: its header, the sets, and a dictionary about each second.
 *
 *   session or collect → recording_note(set) → recorder (a file) or stdout (a stream)
 *
 * A recording that is begun with the watch holds its first reading, which tells all; one that is begun later begins with a snapshot. */
#ifndef PMTOP_COMMANDS_RECORDING_H
#define PMTOP_COMMANDS_RECORDING_H

#include <stdbool.h>

#include "src/collect/collector.h"
#include "src/collect/recorder.h"
#include "src/samples/stream.h"

struct recording {
	struct recorder *recorder;           /* NULL: none */
	char path[4096];
	bool is_begun, is_asked;             /* its first dictionary has been added; a snapshot has been asked for */
	int64_t told_ns;                     /* time, and bytes, of the last dictionary */
	size_t told_bytes;
	size_t bytes;                        /* written since */
};

/* Who is watched, and when. */
void recording_header(const struct target *target, struct stream_header *out);
enum status recording_begin(struct recording *recording, const char *path, const struct target *target, const struct recorder_options *options, struct reason *why_not);
/* The next set as the collector gave it, which is asked for a snapshot when one is due. tells_all: a snapshot, or the very first reading. */
void recording_note(struct recording *recording, struct collector *collector, const struct sample_set *set, bool tells_all);
/* *out as recorder_close; nothing where none was begun. */
void recording_end(struct recording *recording, struct recorder_state *out);

#endif
