/* session_private.h: what session.c shares with the files that record and collect. */
#ifndef PMTOP_SESSION_SESSION_PRIVATE_H
#define PMTOP_SESSION_SESSION_PRIVATE_H

#include "src/session/session.h"
#include "src/sources/source.h"

/* -- session_record.c -- */
/* What is refused for its name is refused before anything is started. */
enum status session_check_recording(const struct session *session, const struct options *options, struct reason *why_not);
/* Before there is a collector, so that its first reading is in it; where the options ask for none, nothing. */
enum status session_begin_recording(struct session *session, const struct options *options, struct reason *why_not);
/* How it goes; that it has stopped by itself becomes a warning. */
void session_look_at_recording(struct session *session);

/* -- collect.c -- */
enum { COLLECT_SOURCES_MOST = 32 };
/* Those of the table that `names` has ("process,region"; NULL: all). */
enum status collect_sources(const char *names, const struct source **chosen, unsigned *count, struct reason *why_not);

#endif
