/* timeline.h: what a whole recording holds, in outline: step times, flags, gaps. Found by a thread that plays it once
 * on its own, without rules; the main thread looks at what it has found so far. Of a recording that is still being
 * written it goes on as that grows. */
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
	int64_t begin_ns, upto_ns; /* of the first set; of what was gone through; 0 = nothing yet */
	bool is_whole;             /* to the end, and no more will come */
	uint64_t flag_count, lost_blocks;
};

struct timeline;
/* NULL: a pipe, or out of memory or threads; then there is no outline. `player` is only copied (player_again). */
struct timeline *timeline_start(const struct player *player, const struct model_options *options);
void timeline_stop(struct timeline *timeline);

/* From here on main thread; `timeline` NULL: nothing was found. */
void timeline_read(struct timeline *timeline, struct timeline_state *out);
/* `count` columns of equal time from begin to end. */
void timeline_columns(
	struct timeline *timeline, int64_t begin_ns, int64_t end_ns, struct replay_column *out, size_t count);
/* The newest TIMELINE_FLAGS_MAX flags, in the order in which they were seen. Returns how many. */
size_t timeline_flags(struct timeline *timeline, struct timeline_flag out[TIMELINE_FLAGS_MAX]);

#endif
