/* timeline.h: an outline of a whole recording: step times, flags, gaps. A thread plays the recording once, without
 * rules; the main thread reads what it has found so far. The thread follows a recording that is still being written. */
#ifndef PMTOP_PLAYBACK_TIMELINE_H
#define PMTOP_PLAYBACK_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/model.h"
#include "src/playback/player.h"
#include "ui/widgets/replay_line.h"

enum { TIMELINE_FLAGS_MAX = 4096 };

/* A flagged batch; seen_ns: the time of the set after which the model has it flagged. */
struct timeline_flag {
	unsigned run;
	uint32_t mode;
	uint64_t ordinal;
	int64_t end_ns, seen_ns;
};

struct timeline_state {
	int64_t begin_ns, upto_ns; /* times of the first set and of the last one read; 0 = none yet */
	bool is_whole;             /* the recording has been read to its end */
	uint64_t flag_count, lost_blocks;
};

struct timeline;
/* Returns NULL for a pipe, or if out of memory or threads. `player` is only copied (player_again). */
struct timeline *timeline_start(const struct player *player, const struct model_options *options);
void timeline_stop(struct timeline *timeline);

/* The rest is for the main thread; `timeline` may be NULL. */
void timeline_read(struct timeline *timeline, struct timeline_state *out);
/* `count` columns of equal time from begin to end. */
void timeline_columns(
	struct timeline *timeline, int64_t begin_ns, int64_t end_ns, struct replay_column *out, size_t count);
/* Copies the newest TIMELINE_FLAGS_MAX flags, oldest first. Returns their number. */
size_t timeline_flags(struct timeline *timeline, struct timeline_flag out[TIMELINE_FLAGS_MAX]);

#endif
