/* snapshot_lines.h: memory by the program's own lines: each stack counts for its innermost line that is of no library.
 */
#ifndef PMTOP_TRACE_SNAPSHOT_LINES_H
#define PMTOP_TRACE_SNAPSHOT_LINES_H

#include "src/trace/snapshot/snapshot.h"

struct snapshot_line {
	uint32_t frame; /* 0 = no stack was recorded */
	uint32_t stack; /* the one that holds most of it */
	uint64_t stack_bytes;
	struct snapshot_live live;
};

/* The largest first. */
struct snapshot_lines {
	struct snapshot_line *rows; /* NULL: no memory */
	size_t count;
	uint64_t bytes; /* of all rows */
};

/* In use when the snapshot was taken. */
struct snapshot_lines snapshot_lines_now(const struct snapshot *snapshot);
/* By whole stacks instead of lines. */
struct snapshot_lines snapshot_stacks_now(const struct snapshot *snapshot);
/* Live at a moment of a history, with those of an unknown stack. */
struct snapshot_lines snapshot_lines_at(
	const struct snapshot *snapshot, const struct snapshot_history *history, enum snapshot_mark mark);
void snapshot_lines_release(struct snapshot_lines *lines);
/* "train.py:42 step", or why there is none. Returns `out`. */
const char *snapshot_line_show(const struct snapshot *snapshot, uint32_t frame, char *out, size_t size);
/* The program's own frames that call the line of a stack: "model.py:8 forward < train.py:42 main"; "" = none. */
const char *snapshot_callers_show(const struct snapshot *snapshot, uint32_t stack, char *out, size_t size);

#endif
