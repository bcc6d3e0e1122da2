/* replay_private.h: shared by replay.c (the clock, playing, seeking) and replay_keys.c. */
#ifndef PMTOP_SESSION_REPLAY_REPLAY_PRIVATE_H
#define PMTOP_SESSION_REPLAY_REPLAY_PRIVATE_H

#include "src/playback/timeline.h"
#include "src/session/replay/replay.h"
#include "src/session/replay/seek.h"
#include "src/session/replay/stations.h"

struct replay {
	struct session *session;
	struct screen *screen;
	struct timeline *timeline; /* NULL: a pipe, or out of memory */
	struct stations *stations; /* started when the timeline is complete; NULL: not yet, or out of memory */
	bool has_stations;         /* stations_start was called */
	struct replay_line line;
	bool is_file;             /* false: a pipe */
	int64_t begin_ns, end_ns; /* of the recording, as far as it has been read */
	int64_t realtime_offset_ns;
	/* the replay's clock: it was at at_ns when CLOCK_MONOTONIC was at wall_ns */
	double speed; /* HUGE_VAL: as fast as it goes */
	int64_t at_ns, wall_ns;
	bool is_paused, has_ended;
	bool is_following; /* at the end of a file that is being written */
	bool is_seeking;
	struct goal goal;
	int64_t seek_from_ns;
	/* the session that seeks while the other is shown, from the beginning or a station; NULL: the shown one seeks */
	struct session *again;
	struct {
		bool is_wanted;
		struct timeline_flag flag;
	} focus;          /* the batch to focus after the seek */
	int64_t shown_ns; /* CLOCK_MONOTONIC at the last drawing */
};

bool replay_is_running(const struct replay *replay);
/* The replay's clock now, in the recording's time. */
int64_t replay_position_ns(const struct replay *replay);
void replay_put(struct replay *replay, int64_t at_ns);
void replay_seek(struct replay *replay, const struct goal *goal);
/* Ends a seek: a forward one stays at the time reached, a backward one returns to where it began. */
void replay_stop_seek(struct replay *replay);

#endif
