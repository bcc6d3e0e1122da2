/* profile_idle.h: when each GPU is busy, and what the host does while it is idle. */
#ifndef PMTOP_TRACE_PROFILE_IDLE_H
#define PMTOP_TRACE_PROFILE_IDLE_H

#include "src/trace/analysis/profile_host.h"

enum profile_idle_kind { IDLE_HOST, IDLE_DATA, IDLE_COPIES, IDLE_SYNC, IDLE_COMMUNICATION, IDLE_KIND_COUNT };
extern const char *const profile_idle_names[IDLE_KIND_COUNT]; /* in JSON and tables */
extern const char *const profile_idle_words[IDLE_KIND_COUNT]; /* "waiting for the CPU" */

#define PROFILE_GPU_MEAN (-2) /* the index of the mean of several GPUs */

/* Times of one GPU within the window: from the first to the last event of the trace. Busy is the union over its streams
 * of kernels, copies and memsets. */
struct profile_gpu {
	int32_t index;  /* -1 = unknown; PROFILE_GPU_MEAN */
	uint32_t track; /* its first one */
	bool is_twin;   /* another process has a GPU of this index: traces of several ranks in one file */
	uint32_t streams;
	uint64_t kernel_count;
	int64_t kernel_ns; /* summed, not the union */
	int64_t window_ns, busy_ns, idle_ns;
	int64_t
		kernel_window_ns; /* from the first kernel, copy or memset to the last: the window of Holistic Trace Analysis */
	int64_t idle_split_ns[IDLE_KIND_COUNT]; /* if has_split: their sum is idle_ns */
	bool has_split;                         /* the trace has host events, by the same clock */
	int64_t pageable_ns;                    /* of idle_split_ns[IDLE_COPIES]: in copies from pageable memory to a GPU */
	/* Of idle_split_ns[IDLE_HOST]: in gaps shorter than PROFILE_STALL_NS, and in the others; these, counted. */
	int64_t launch_ns, stall_ns;
	uint64_t stall_count;
	int64_t compute_ns, copy_ns, communication_ns; /* unions */
	int64_t overlap_ns;                            /* of communication with computation */
	int64_t busy_curve_ns[PROFILE_CURVE_SIZE];     /* busy in each part of the window, all of one length */
};

/* A time in which one GPU is idle. */
struct profile_gap {
	int64_t start_ns, end_ns;
	uint32_t gpu;                /* index in profile_idle.gpus */
	enum profile_idle_kind kind; /* of most of it */
	uint32_t host;               /* a name: the operator or call that takes most of it; 0 = none */
	uint32_t line;               /* a name: the program's Python function; 0 = none recorded */
	uint32_t before, after;      /* names of the kernels before and after; 0 = none */
};

/* Launching a kernel late takes microseconds. In a longer gap the host did something else. */
enum { PROFILE_GAPS_MAX = 50, PROFILE_STALL_NS = 1000000 };

struct profile_step {
	int64_t number; /* of ProfilerStep#N */
	int64_t start_ns, duration_ns;
	/* Of several GPUs the mean. */
	int64_t busy_ns;                        /* -1 = no GPU work in the trace */
	int64_t idle_split_ns[IDLE_KIND_COUNT]; /* if the GPUs have has_split: their sum is the rest of the step */
};

struct profile_idle {
	struct profile_gpu gpus[PROFILE_GPUS_MAX];
	uint32_t gpu_count;
	uint32_t streams_left_out; /* of GPUs beyond PROFILE_GPUS_MAX */
	struct profile_gpu mean;   /* of one GPU: that; of several the mean, but streams and kernels are those of all */
	struct profile_gap gaps[PROFILE_GAPS_MAX]; /* the longest, the longest first */
	uint32_t gap_count;
	uint64_t gaps_found;
	struct profile_step *steps;
	uint32_t step_count, step_capacity;
	bool steps_are_inferred; /* from one Optimizer.step to the next */
};

/* After profile_host_nest(). False: no memory. */
bool profile_idle_find(struct profile *profile, struct profile_waits *waits, struct profile_idle *idle);
void profile_idle_release(struct profile_idle *idle);

#endif
