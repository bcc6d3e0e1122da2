/* moment.h: a time of a run as a person writes it: --at, --since, --until, and the prompt of a replay.
 *
 *   90s 5m 1h30m 1.5h 90    since the beginning          -5m      before the end
 *   1:30 0:01:30 +14:02:30  the same, as minutes:seconds or hours:minutes:seconds
 *   14:02 09:30 14:02:30    of the clock, local time     2026-11-20T14:02:30 (a Z behind it: UTC)
 *   50%   #624   @7         of the whole; the end of that batch; the begin of that epoch       begin   end
 *
 * What has a colon is of the clock where its first part has two digits, and since the beginning where that has one, or
 * a + before it. */
#ifndef PMTOP_PLAYBACK_MOMENT_H
#define PMTOP_PLAYBACK_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

enum moment_kind {
	MOMENT_SECONDS, /* since the beginning; below zero (−0.0 too): before the end */
	MOMENT_CLOCK,   /* seconds of the day, local time: the first such moment at or after the beginning */
	MOMENT_DATE,    /* seconds since 1970 */
	MOMENT_SHARE,   /* 0 … 1 of the whole */
	MOMENT_BATCH,   /* ordinal of the main track, from 0: when it had ended */
	MOMENT_EPOCH,   /* 1 and up: the begin of that epoch of the main mode */
	MOMENT_BEGIN,
	MOMENT_END,
};

struct moment {
	enum moment_kind kind;
	double value;
};

/* False: it is none. */
bool moment_parse(const char *text, struct moment *out);
/* What it takes, in words, for messages. */
extern const char moment_takes[];
/* Whether time alone tells it: all but batches and epochs. */
bool moment_is_time(const struct moment *moment);
/* CLOCK_MONOTONIC ns of such a moment, of a recording from `begin_ns` to `end_ns`. It may lie outside of the
 * recording. */
int64_t moment_time_ns(const struct moment *moment, int64_t begin_ns, int64_t end_ns, int64_t realtime_offset_ns);

#endif
