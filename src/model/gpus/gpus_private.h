/* gpus_private.h: internal state of the GPU files. gpus.c applies records and drops stale figures; gpus_runs.c finds
 * the GPUs that runs use, with gpus_placement.c if processes are hidden; gpus_memory.c judges the run's memory;
 * gpus_totals.c computes means and totals; gpus_words.c has the texts. */
#ifndef PMTOP_MODEL_GPUS_GPUS_PRIVATE_H
#define PMTOP_MODEL_GPUS_GPUS_PRIVATE_H

#include "src/model/model_private.h"

enum { GPU_TREND_MAX = 300, GPU_WHOLES = 6 };

/* Time of a metric's latest reading, and since the previous one. */
struct gpu_figure_past {
	int64_t time_ns, interval_ns;
	bool is_forgotten;
};

#define GPU_TREND_PARTS(X) \
	X(run_bytes) \
	X(allocated_bytes) \
	X(reserved_bytes) \
	X(peak_bytes) \
	X(split_bytes)
struct gpu_sample {
	int64_t time_ns;
	double batches;
#define GPU_TREND_MEMBER(name) double name;
	GPU_TREND_PARTS(GPU_TREND_MEMBER)
#undef GPU_TREND_MEMBER
};

/* One sample per second at first, later every two seconds; the last ten minutes at most. */
struct gpu_trend {
	size_t count;
	int64_t interval_ns;
	struct gpu_sample samples[GPU_TREND_MAX];
};

struct gpu_past {
	struct gpu_figure_past figures[GPU_METRICS], processes, any;
	bool has_new_processes;
	int64_t reading_from_ns; /* gpu.reading_time: begin of the current window; 0 = none */
	double reading_from;
	bool has_reading_window; /* a whole window has been measured */
	double sums[GPU_WHOLES], weights_s[GPU_WHOLES], reason_s[GPU_THROTTLE_COUNT], throttled_s, throttle_weight_s;
	struct gpu_trend *trend; /* NULL until the run uses it */
};

struct gpus_past {
	bool has_new_processes;
	uint64_t tree_version;
	int64_t renewed_ns;
	struct gpu_past pasts[GPUS_MAX]; /* same indexes as gpus */
};

/* Bit masks of the model's GPUs (GPUS_MAX is 64). */
static inline uint64_t gpu_bit(int gpu) { return UINT64_C(1) << gpu; }

#endif
