/* stations.h: sessions that stand ready along a recording, so that a way back need not begin at its beginning. A thread
 * of low priority makes them, one after the other in the middle of the widest gap; one that is taken is gone on with,
 * and what it takes the place of is given back. */
#ifndef PMTOP_SESSION_REPLAY_STATIONS_H
#define PMTOP_SESSION_REPLAY_STATIONS_H

#include <stdint.h>

#include "src/session/replay/seek.h"

struct stations;

/* NULL: out of memory or threads; then there are none. The settings and rules of `session` must live on. */
struct stations *stations_start(const struct session *session, int64_t begin_ns, int64_t end_ns);
void stations_stop(struct stations *stations);
/* The last that the goal lies ahead of, if it stands after `after_ns`; the caller's to close and free. NULL: none.
 * `stations` may be NULL, here and below. */
struct session *stations_take(struct stations *stations, const struct goal *goal, int64_t after_ns);
/* Takes the session, which was made by session_again and malloc: kept where it helps, else closed. */
void stations_give(struct stations *stations, struct session *session);

#endif
