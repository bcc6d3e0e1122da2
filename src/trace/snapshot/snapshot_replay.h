/* snapshot_replay.h: the history of one device, replayed event by event as it is read. No event is kept: what was live
 * at the peak, and when memory ran out, is found by copying a stack's figures when they change for the first time
 * after that moment. */
#ifndef PMTOP_TRACE_SNAPSHOT_REPLAY_H
#define PMTOP_TRACE_SNAPSHOT_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_table;

enum snapshot_action {
	SNAPSHOT_ALLOC,
	SNAPSHOT_FREE_REQUESTED,
	SNAPSHOT_FREE_COMPLETED,
	SNAPSHOT_SEGMENT_ALLOC,
	SNAPSHOT_SEGMENT_FREE,
	SNAPSHOT_SEGMENT_MAP,
	SNAPSHOT_SEGMENT_UNMAP,
	SNAPSHOT_TAKEN,
	SNAPSHOT_OOM,
	SNAPSHOT_ACTIONS /* an action that is not known */
};

struct snapshot_event {
	enum snapshot_action action;
	uint32_t stack;
	uint64_t address, size;
	uint64_t device_free; /* of SNAPSHOT_OOM */
	bool has_device_free;
	int64_t time_us; /* 0 = unknown */
};

/* A moment of the history. Bytes are relative to its begin, modulo 2^64. */
struct snapshot_moment {
	uint32_t version; /* 0 = there is none */
	uint64_t event;   /* its number; 0 = the begin */
	int64_t time_us;
	uint64_t live_delta, reserved_delta;
	uint64_t unknown_freed; /* bytes freed by then whose allocation is not in the history */
};

enum snapshot_mark { SNAPSHOT_PEAK, SNAPSHOT_LAST_OOM, SNAPSHOT_MARKS };

struct snapshot_live {
	uint64_t bytes, blocks;
};

struct snapshot_row {
	uint32_t stack;
	uint32_t versions[SNAPSHOT_MARKS];
	struct snapshot_live now, at[SNAPSHOT_MARKS];
	struct snapshot_live before; /* live at the end, and allocated before the history */
};

struct snapshot_oom {
	uint64_t event, size, device_free, live_delta;
	bool has_device_free;
	uint32_t stack;
	int64_t time_us;
};

enum { SNAPSHOT_OOMS_MAX = 64 };

struct snapshot_history {
	int32_t device;
	uint64_t events, allocations, frees;
	uint64_t unknown_freed, unknown_frees; /* frees whose allocation is not in the history */
	struct snapshot_live before;           /* live at the end, and allocated before the history */
	uint64_t live_delta, reserved_delta;   /* now */
	uint64_t reserved_end;                 /* of the device's segments */
	int64_t first_us, last_us;             /* 0 = unknown */
	struct snapshot_moment marks[SNAPSHOT_MARKS];
	struct snapshot_row *rows; /* one for each stack that has allocated */
	uint32_t row_count, row_capacity;
	struct profile_table *row_of, *live; /* stack → row + 1; address → size, with the row + 1 as the count */
	struct snapshot_oom ooms[SNAPSHOT_OOMS_MAX]; /* the last ones, a ring */
	uint64_t oom_count;
};

bool snapshot_history_init(struct snapshot_history *history);
void snapshot_history_release(struct snapshot_history *history);
/* False: no memory. */
bool snapshot_history_add(struct snapshot_history *history, const struct snapshot_event *event);
/* At the end: a block that the device's segments hold. */
bool snapshot_history_hold(struct snapshot_history *history, uint64_t address, uint64_t size, uint32_t stack);
/* What a stack held at a moment. */
struct snapshot_live snapshot_row_at(
	const struct snapshot_history *history, const struct snapshot_row *row, enum snapshot_mark mark);
/* All that was live: of stacks, and allocated before the history and freed later. */
uint64_t snapshot_history_live(const struct snapshot_history *history, uint64_t live_delta);
/* Of it, what was allocated before the history and freed after that moment: by an unknown stack. */
uint64_t snapshot_history_unknown(const struct snapshot_history *history, enum snapshot_mark mark);
/* Reserved at a moment, by its reserved_delta. */
uint64_t snapshot_history_reserved(const struct snapshot_history *history, uint64_t reserved_delta);

#endif
