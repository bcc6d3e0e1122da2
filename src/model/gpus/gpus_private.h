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

/* -- gpus_runs.c -- */
/* Determines which processes on each GPU are the run's, and the figures that depend on it. */
void gpus_find_ours(struct model *model);
bool gpu_process_is_ours(const struct model *model, int32_t pid, int64_t seen_ns);

const struct process *gpus_find_process(const struct model *model, int32_t pid); /* NULL: not in the process tree */
const struct run *gpus_run_of_pid(const struct model *model, int32_t pid);       /* NULL: no live run */
bool run_is_on_gpu(const struct run *run);                                       /* its allocator reports GPU memory */

/* -- gpus_placement.c: from environments and meta. Bit masks of the model's GPUs (GPUS_MAX is 64) -- */
static inline uint64_t gpu_bit(int gpu) { return UINT64_C(1) << gpu; }
uint64_t gpus_by_run_placement(const struct model *model, const struct run *run);
uint64_t gpus_by_all_placements(const struct model *model);

/* -- gpus_memory.c: once per second -- */
void gpus_judge_memory(struct model *model);
void gpu_forget_memory(struct gpu *gpu);

/* -- gpus_totals.c -- */
void gpu_forget_totals(struct gpu *gpu, struct gpu_past *past);
/* `seconds`: since the previous reading; NAN = first reading. */
void gpu_count_gauge(struct gpu *gpu, struct gpu_past *past, enum metric metric, double value, double seconds);
void gpu_count_growth(struct gpu *gpu, enum metric metric, double growth);
void gpu_count_run_memory(struct gpu *gpu, struct gpu_past *past, double bytes, double seconds);

#endif
