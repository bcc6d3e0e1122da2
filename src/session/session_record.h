/* session_record.h: records a session. */
#ifndef PMTOP_SESSION_SESSION_RECORD_H
#define PMTOP_SESSION_SESSION_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"

struct options;
struct session;

/* Starts to record the sets to `path` (NULL: a generated name). Live only. */
enum status session_record(struct session *session, const char *path, struct reason *why_not);
/* Records that a person flagged or unflagged a batch; the caller has changed the model. */
void session_flag(struct session *session, unsigned run, uint32_t mode, uint64_t ordinal, bool is_flagged);
/* Refuses a bad name of a recording, before anything is started. */
enum status session_check_recording(
	const struct session *session, const struct options *options, struct reason *why_not);
/* Starts the recording if the options ask for one; before the collector, so that it has the first reading. */
enum status session_begin_recording(struct session *session, const struct options *options, struct reason *why_not);
/* Reads the recorder's state, and raises a warning if it has stopped by itself. */
void session_check_recording_file(struct session *session);

#endif
