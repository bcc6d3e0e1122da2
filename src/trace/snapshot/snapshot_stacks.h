/* snapshot_stacks.h: the frames and stacks of a memory snapshot, each stored once. */
#ifndef PMTOP_TRACE_SNAPSHOT_STACKS_H
#define PMTOP_TRACE_SNAPSHOT_STACKS_H

#include "src/trace/store/profile_names.h"

struct profile_table;

struct snapshot_frame {
	uint32_t file, function; /* names */
	int64_t line;
};

struct snapshot_stack {
	uint32_t first, count; /* in calls[], innermost first */
	uint32_t own;          /* the frame of the program's own line; 0 = there is none */
};

/* frames[0] and stacks[0] stand for "none recorded", also where memory or the limits run out (is_full). */
struct snapshot_stacks {
	struct profile_names names;
	struct snapshot_frame *frames;
	struct snapshot_stack *stacks;
	uint32_t *calls;
	uint32_t frame_count, frame_capacity, stack_count, stack_capacity, call_count, call_capacity;
	struct profile_table *frame_ids, *stack_ids; /* hash → index */
	bool is_full;
};

enum { SNAPSHOT_DEPTH_MAX = 1024 };

bool snapshot_stacks_init(struct snapshot_stacks *stacks);
void snapshot_stacks_release(struct snapshot_stacks *stacks);
uint32_t snapshot_frame_add(struct snapshot_stacks *stacks, uint32_t file, int64_t line, uint32_t function);
/* `frames`: innermost first. What is deeper than SNAPSHOT_DEPTH_MAX is left out. */
uint32_t snapshot_stack_add(struct snapshot_stacks *stacks, const uint32_t *frames, size_t count);
/* Whether a frame is of the program: Python, and of no library. */
bool snapshot_frame_is_own(const struct snapshot_stacks *stacks, uint32_t frame);
/* "models/resnet.py:42 forward": the last two parts of the path. is_full: the whole path. Returns `out`, of at
 * least 64 bytes. */
const char *snapshot_frame_show(
	const struct snapshot_stacks *stacks, uint32_t frame, bool is_full, char *out, size_t size);

#endif
