/* replay_private.h: what replay.c (the clock and what is played) and replay_keys.c share. */
#ifndef PMTOP_SESSION_REPLAY_REPLAY_PRIVATE_H
#define PMTOP_SESSION_REPLAY_REPLAY_PRIVATE_H

#include "src/playback/timeline.h"
#include "src/session/replay/replay.h"
#include "src/session/replay/seek.h"
#include "src/session/replay/stations.h"

struct replay {
	struct session *session;
	struct screen *screen;
	struct timeline *timeline; /* NULL: none is to be had */
	struct stations *stations; /* once the time line is whole; NULL: none yet, or none are to be had */
	bool has_stations;         /* they were begun */
	struct replay_line line;
	bool is_file;             /* false: a pipe */
	int64_t begin_ns, end_ns; /* of the recording, as far as is known */
	int64_t realtime_offset_ns;
	/* the clock: it was at at_ns when ours was at wall_ns */
	double speed; /* HUGE_VAL: as fast as it goes */
	int64_t at_ns, wall_ns;
	bool is_paused, has_ended;
	bool is_following; /* at the end of a file that is being written: what comes is shown as it comes */
	/* on the way to another place */
	bool is_seeking;
	struct goal goal;
	int64_t seek_from_ns;
	/* what is gone on with while the other is shown: from the beginning or a station; NULL: forward, in place */
	struct session *again;
	struct {
		bool is_wanted;
		struct timeline_flag flag;
	} focus;          /* once it is there */
	int64_t shown_ns; /* our clock, when it was drawn last */
};

bool replay_is_running(const struct replay *replay);
/* Of the recording's time: where the clock is now. */
int64_t replay_place_ns(const struct replay *replay);
void replay_put(struct replay *replay, int64_t at_ns);
void replay_seek(struct replay *replay, const struct goal *goal);
/* Backward: where it was before; forward: where it has come to. */
void replay_stop_seek(struct replay *replay);

#endif
