/* session_private.h: what session.c and session_record.c share. */
#ifndef PMTOP_SESSION_SESSION_PRIVATE_H
#define PMTOP_SESSION_SESSION_PRIVATE_H

#include "src/session/session.h"

/* What is refused for its name is refused before anything is started. */
enum status session_check_recording(
	const struct session *session, const struct options *options, struct reason *why_not);
/* Before there is a collector, so that its first reading is in it; where the options ask for none, nothing. */
enum status session_begin_recording(struct session *session, const struct options *options, struct reason *why_not);
/* How it goes; that it has stopped by itself becomes a warning. */
void session_check_recording_file(struct session *session);

#endif
