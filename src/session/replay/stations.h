/* stations.h: sessions already played to several times of a recording, so that seeking back need not start at its
 * beginning. A low-priority thread makes them, each in the middle of the widest gap. replay.c takes a station to seek
 * with, and gives back the session that it replaces. */
#ifndef PMTOP_SESSION_REPLAY_STATIONS_H
#define PMTOP_SESSION_REPLAY_STATIONS_H

#include <stdint.h>

#include "src/session/replay/seek.h"

struct stations;

/* Returns NULL if out of memory or threads. The settings and rules of `session` must outlive the stations. */
struct stations *stations_start(const struct session *session, int64_t begin_ns, int64_t end_ns);
void stations_stop(struct stations *stations);
/* Takes the last station before the goal if it is after `after_ns`; the caller closes and frees it. NULL: none.
 * `stations` may be NULL, here and below. */
struct session *stations_take(struct stations *stations, const struct goal *goal, int64_t after_ns);
/* Takes over a session made by malloc and session_again, and closes the least useful station if there are too many. */
void stations_give(struct stations *stations, struct session *session);

#endif
