/* profile_memory.h: the curve of allocated memory of each device, its peak, and what was allocated at the peak. */
#ifndef PMTOP_TRACE_PROFILE_MEMORY_H
#define PMTOP_TRACE_PROFILE_MEMORY_H

#include "src/trace/store/profile.h"

enum { PROFILE_HOLDERS_MAX = 20, PROFILE_MEMORIES_MAX = 16 };

/* Allocations of one operator that are live at the peak. */
struct profile_holder {
	uint32_t op;   /* a name: the innermost operator around the allocation; 0 = none */
	uint32_t line; /* a name: the program's Python function; 0 = none recorded */
	int64_t bytes;
	uint64_t count;
};

struct profile_memory {
	int16_t device_type, device; /* 0 = CPU, 1 = CUDA (HIP has 1 too) */
	uint64_t allocations, frees;
	int64_t allocated_bytes; /* by all allocations */
	int64_t peak_bytes, peak_at_ns, start_bytes, end_bytes;
	/* Of the peak, what the trace saw allocated; the rest was there before. */
	int64_t seen_bytes;
	struct profile_holder holders[PROFILE_HOLDERS_MAX]; /* the largest first */
	uint32_t holder_count;
	int64_t curve[PROFILE_CURVE_SIZE]; /* the largest in each part of the window; -1 = no event in it */
};

struct profile_memories {
	struct profile_memory devices[PROFILE_MEMORIES_MAX]; /* GPUs first */
	uint32_t count;
};

/* After profile_host_nest(). False: no memory. */
bool profile_memory_find(struct profile *profile, struct profile_memories *memories);

#endif
