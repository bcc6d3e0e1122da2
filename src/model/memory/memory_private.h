/* memory_private.h: internal state of the memory files. memory.c samples the process tree; memory_parts.c computes its
 * parts and finds which process grows; memory_verdict.c judges the trend; memory_limits.c predicts when a limit is
 * reached; memory_spikes.c finds short spikes. */
#ifndef PMTOP_MODEL_MEMORY_MEMORY_PRIVATE_H
#define PMTOP_MODEL_MEMORY_MEMORY_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TREND_SAMPLES_MAX = 600, GROWTH_POINTS_MAX = 24, BASELINE_POINTS = 32 };

struct memory;
struct model;

/* The parts of the tree's memory. Growth is judged without counting shared pages twice. */
#define MEMORY_PARTS(X) \
	X(ANONYMOUS)  /* sum over processes, with swap; of a child without its memory at its start, which is its \
					 parent's */ \
	X(FILE)       /* mapped files of the process that has most */ \
	X(SHARED)     /* shared memory of the process that has most */ \
	X(SHARED_SUM) /* shared memory, sum over processes: correct if nothing is shared */ \
	X(SHM)        /* files in /dev/shm that the run's processes have or had open or mapped; if unknown, all used */ \
	X(SHM_OTHERS) /* used of /dev/shm by other programs */ \
	X(GROUP_ANONYMOUS) /* of the cgroup if the run owns it, with swap */ \
	X(GROUP_FILE)      /* likewise */ \
	X(GROUP_SHARED)    /* of the cgroup, all processes */

enum memory_part {
#define MEMORY_PART_ID(id) PART_##id,
	MEMORY_PARTS(MEMORY_PART_ID)
#undef MEMORY_PART_ID
		PART_COUNT
};

struct memory_sample {
	int64_t time_ns;
	double batches;
	double part[PART_COUNT]; /* NAN = unknown */
};

/* Which parts are judged; chosen again with each slope. */
struct memory_basis {
	enum memory_part anonymous, shared, file;
};

/* Samples of the tree, eight per second at first, later one; the last ten minutes at most. */
struct memory_trend {
	size_t count;
	int64_t interval_ns, renewed_ns;
	int64_t begun_ns;    /* the last sample with fewer batches than a warm-up; 0 = none */
	int64_t base_for_ns; /* end of the warm-up for which growth_since_ns was set; −1 = none */
	struct memory_sample base, now;
	struct memory_basis basis;
	struct memory_sample samples[TREND_SAMPLES_MAX];
};

/* History of one process: thinned until points are 32 s apart, then the oldest are dropped. */
struct process_growth {
	bool has_born;
	double born_bytes; /* anonymous memory at the first reading; 0 for the target */
	unsigned count;
	int64_t interval_ns;
	struct {
		int64_t time_ns;
		double bytes;
	} points[GROWTH_POINTS_MAX];
};

/* The baseline is the median of the last readings. */
struct memory_spikes {
	struct rolling *baseline;
	int64_t since_ns; /* begin of the current spike; 0 = none */
	double baseline_bytes, high_bytes, peak_bytes;
	int64_t times_ns[16]; /* times of the latest spikes, a ring */
	uint64_t count;
};

#endif
