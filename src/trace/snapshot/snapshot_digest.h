/* snapshot_digest.h: of the newest snapshot of a program, and the one before it, what the view Memory shows. */
#ifndef PMTOP_TRACE_SNAPSHOT_DIGEST_H
#define PMTOP_TRACE_SNAPSHOT_DIGEST_H

#include "src/trace/snapshot/snapshot.h"

enum { SNAPSHOT_DIGEST_ROWS = 256, SNAPSHOT_DIGEST_LINE = 120, SNAPSHOT_DIGEST_CALLERS = 200 };

struct snapshot_digest_row {
	char line[SNAPSHOT_DIGEST_LINE];       /* "train.py:42 step", or why there is none */
	char callers[SNAPSHOT_DIGEST_CALLERS]; /* "model.py:8 forward < train.py:42 main"; empty: none known */
	struct snapshot_live live;
	int64_t growth; /* since the snapshot before, if has_before; bytes */
	bool is_new;    /* the snapshot before had nothing of it */
};

struct snapshot_digest_list {
	uint64_t bytes; /* of all lines, also those that are left out */
	size_t count;
	struct snapshot_digest_row rows[SNAPSHOT_DIGEST_ROWS]; /* the largest first */
};

struct snapshot_digest {
	char path[4096];
	char loss[400];              /* empty: the file is whole */
	int64_t taken_ns, before_ns; /* since 1970; before_ns 0: there is no snapshot before, or it could not be read */
	struct snapshot_group sum;   /* of all GPUs */
	bool has_before, has_history, is_partial; /* partial: of the peak, some was allocated before the history */
	struct snapshot_digest_list now, peak;
	int32_t peak_device;
	uint64_t peak_live, peak_reserved;
	double peak_before_s; /* before the last event of the history; NAN = unknown */
};

/* The path of the newest snapshot of the process `pid` in these folders, and of the one before it; "": there is none.
 * Names are HOST_PID[_rankN].TIME.snapshot.pickle. */
void snapshot_find_newest(const char *const *folders, size_t count, pid_t pid, char newest[4096], char before[4096]);
/* Reads both; `before` may be "". Allocates *out; free() it. */
enum status snapshot_digest_read(
	const char *newest, const char *before, struct snapshot_digest **out, struct reason *why_not);

#endif
