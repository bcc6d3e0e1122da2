/* watch_record.h: recording from the screen: the key r, the mark in the header, flags set by hand. */
#ifndef PMTOP_SESSION_WATCH_RECORD_H
#define PMTOP_SESSION_WATCH_RECORD_H

#include "src/session/session.h"
#include "ui/screen.h"

/* Key r: starts or stops a recording; the screen shows a message. */
void watch_record_toggle(struct session *session, struct screen *screen);
/* To be called before each frame and after each key: updates the mark in the header and records flags set by hand. */
void watch_record_report(struct session *session, struct screen *screen);

#endif
