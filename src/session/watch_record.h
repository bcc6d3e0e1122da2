/* watch_record.h: recording while a screen shows: the key r, the mark in the header, flags set by hand. */
#ifndef PMTOP_SESSION_WATCH_RECORD_H
#define PMTOP_SESSION_WATCH_RECORD_H

#include "src/session/session.h"
#include "ui/screen.h"

/* r: begins a recording from now on, or ends the one that goes on; the screen says which. */
void watch_record_toggle(struct session *session, struct screen *screen);
/* Before each frame and after each key: what the header says, and what a person flagged. */
void watch_record_report(struct session *session, struct screen *screen);

#endif
