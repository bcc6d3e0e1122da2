/* moment.h: a time of a run as a person writes it: --at, --since, --until, and the prompt of a replay. */
#ifndef PMTOP_COMMANDS_MOMENT_H
#define PMTOP_COMMANDS_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

enum moment_kind {
	MOMENT_SECONDS,      /* "90s", "5m", "2h", "1:30": since the beginning; "-5m": before the end */
	MOMENT_CLOCK,        /* "14:02", "14:02:30": local time, the first such moment at or after the beginning */
	MOMENT_DATE,         /* "2026-11-20T14:02:30" */
	MOMENT_SHARE,        /* "50%" of the whole */
	MOMENT_BATCH,        /* "#624": the batch of that ordinal of the main track, when it ended */
	MOMENT_EPOCH,        /* "@7": the begin of the seventh epoch */
	MOMENT_BEGIN, MOMENT_END,    /* "begin", "end" */
};

struct moment { enum moment_kind kind; double value; };      /* seconds (of the day; since 1970), 0 … 1, ordinal */

/* False: it is none. "1:30" is a time since the beginning, "14:02" one of the clock: what has its first part below 10 and no second colon is the former. */
bool moment_parse(const char *text, struct moment *out);
/* What it takes, in words, for messages. */
extern const char moment_takes[];
/* CLOCK_MONOTONIC ns of a moment that is told by time alone (all but batches and epochs), of a recording from `begin_ns` to `end_ns`. */
int64_t moment_time_ns(const struct moment *moment, int64_t begin_ns, int64_t end_ns, int64_t realtime_offset_ns);

#endif
