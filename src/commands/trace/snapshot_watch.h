/* snapshot_watch.h: memory snapshots while a run is watched: looks for them while the view Memory is open, and after
 * pmtop asked for one; the key T. */
#ifndef PMTOP_COMMANDS_TRACE_SNAPSHOT_WATCH_H
#define PMTOP_COMMANDS_TRACE_SNAPSHOT_WATCH_H

#include "src/commands/trace/snapshot_inset.h"
#include "src/session/session.h"
#include "ui/screen.h"

struct snapshot_watch {
	struct snapshot_inset inset;
	size_t asked;       /* snapshots that pmtop asked for, and has looked for */
	bool is_wanted_now; /* the user wants its page as soon as it has been read */
};

/* To be called after each wait. True: there is something new on the screen. */
bool snapshot_watch_step(struct snapshot_watch *watch, const struct session *session, struct screen *screen, pid_t pid);
/* The key T, where it is about a snapshot: opens or closes its page, or says why not. False: it is about a trace. */
bool snapshot_watch_open(struct snapshot_watch *watch, const struct session *session, struct screen *screen, pid_t pid);

#endif
