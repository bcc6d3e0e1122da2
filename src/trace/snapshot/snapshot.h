/* snapshot.h: a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot): read in one pass, of which sums remain.
 *
 * Fields: torch/cuda/memory.py (_snapshot). Bytes in use are counted as requested, as torch.cuda._memory_viz does; what
 * the allocator's rounding adds is a figure of its own. */
#ifndef PMTOP_TRACE_SNAPSHOT_SNAPSHOT_H
#define PMTOP_TRACE_SNAPSHOT_SNAPSHOT_H

#include "src/base/status.h"
#include "src/trace/snapshot/snapshot_replay.h"
#include "src/trace/snapshot/snapshot_stacks.h"

struct profile_progress;

/* The segments of one kind. */
struct snapshot_group {
	int32_t device;
	int64_t stream;
	uint32_t kind; /* a name: "small", "large"; 0 = unknown */
	bool is_expandable;
	uint64_t segments, blocks; /* blocks: in use */
	uint64_t reserved;
	uint64_t requested;   /* of blocks that tensors use */
	uint64_t rounding;    /* what these blocks have beyond it */
	uint64_t awaiting;    /* freed, but another stream may still use it */
	uint64_t split_bytes; /* inactive, in segments that are also in use */
	uint64_t split_blocks;
	uint64_t whole_bytes; /* inactive segments: empty_cache() gives them back */
	uint64_t largest_free;
};

/* A block that is in use. */
struct snapshot_block {
	uint64_t address, requested;
	uint32_t stack;
	int32_t device;
};

enum { SNAPSHOT_GROUPS_MAX = 1024, SNAPSHOT_DEVICES_MAX = 64 };

struct snapshot {
	char path[4096];
	uint64_t bytes;        /* read, decompressed */
	bool is_cut, has_more; /* has_more: something follows the pickle */
	char why_cut[100];     /* may be empty */
	uint64_t damaged;      /* values that are no sizes */

	struct snapshot_stacks stacks;
	struct snapshot_group *groups;
	size_t group_count, group_capacity;
	struct snapshot_block *blocks;
	size_t block_count, block_capacity;
	struct snapshot_history *histories[SNAPSHOT_DEVICES_MAX]; /* those with events */
	size_t history_count;
	uint64_t segments;
};

/* `path`: plain or gzip. On failure there is nothing to release. Large: allocate it. */
enum status snapshot_read(struct snapshot *snapshot, const char *path, struct reason *why_not);
enum status snapshot_read_memory(struct snapshot *snapshot, const void *bytes, size_t length, struct reason *why_not);
void snapshot_release(struct snapshot *snapshot);
/* Whether a file begins like a pickle. Reads its first bytes only; standard input is none. */
bool snapshot_is_pickle(const char *path);
/* The sums of the groups of a device; device −1: of all. */
struct snapshot_group snapshot_sum(const struct snapshot *snapshot, int32_t device);
/* The history of a device; NULL: none was recorded. */
const struct snapshot_history *snapshot_history_of(const struct snapshot *snapshot, int32_t device);
/* "the file ends early, at byte N"; "" otherwise. Returns `out`. */
const char *snapshot_loss(const struct snapshot *snapshot, char *out, size_t size);

#endif
