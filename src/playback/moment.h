/* moment.h: parses times of a run, for --at, --since, --until and the prompt of a replay.
 *
 *   90s 5m 1h30m 1.5h 90    since the beginning          -5m      before the end
 *   1:30 0:01:30 +14:02:30  the same, as minutes:seconds or hours:minutes:seconds
 *   14:02 09:30 14:02:30    time of day, local           2026-11-20T14:02:30 (with a Z at the end: UTC)
 *   50%   #624   @7         of the run; the end of that batch; the begin of that epoch         begin   end
 *
 * A time with a colon is a time of day if its first part has two digits. It counts from the beginning if that has one
 * digit, or a + before it. */
#ifndef PMTOP_PLAYBACK_MOMENT_H
#define PMTOP_PLAYBACK_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

enum moment_kind {
	MOMENT_SECONDS, /* since the beginning; negative (−0.0 too): before the end */
	MOMENT_CLOCK,   /* seconds of the day, local time; the first such time at or after the beginning */
	MOMENT_DATE,    /* seconds since 1970 */
	MOMENT_SHARE,   /* 0 … 1 of the recording's time */
	MOMENT_BATCH,   /* the end of a batch; ordinal of the main track, from 0 */
	MOMENT_EPOCH,   /* the begin of an epoch of the main mode, from 1 */
	MOMENT_BEGIN,
	MOMENT_END,
};

struct moment {
	enum moment_kind kind;
	double value;
};

/* Returns false if `text` is no moment. */
bool moment_parse(const char *text, struct moment *out);
/* The accepted forms, for messages. */
extern const char moment_takes[];
/* Returns false for batches and epochs, whose time is known only after playing the recording. */
bool moment_is_time(const struct moment *moment);
/* The moment as CLOCK_MONOTONIC ns in a recording from `begin_ns` to `end_ns`. It may be outside the recording. */
int64_t moment_time_ns(const struct moment *moment, int64_t begin_ns, int64_t end_ns, int64_t realtime_offset_ns);

#endif
