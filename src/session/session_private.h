/* session_private.h: functions shared by session.c and session_record.c. */
#ifndef PMTOP_SESSION_SESSION_PRIVATE_H
#define PMTOP_SESSION_SESSION_PRIVATE_H

#include "src/session/session.h"

/* Refuses a bad name of a recording, before anything is started. */
enum status session_check_recording(
	const struct session *session, const struct options *options, struct reason *why_not);
/* Starts the recording if the options ask for one; before the collector, so that it has the first reading. */
enum status session_begin_recording(struct session *session, const struct options *options, struct reason *why_not);
/* Reads the recorder's state, and raises a warning if it has stopped by itself. */
void session_check_recording_file(struct session *session);

#endif
