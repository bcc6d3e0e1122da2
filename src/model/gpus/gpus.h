/* gpus.h: the GPUs that a run could use, as their drivers tell of them, and what the run uses of them. Unknown is NAN.
 *
 * A counter's rate is over its last two readings. "The run" is the watched tree: all processes of it that the driver
 * knows. What a driver no longer tells is forgotten: a figure 15 s after it was told, or four times as long as it
 * usually takes (limits and sizes stay as long as the GPU tells anything), and all of a GPU after as long without any.
 *
 * What the run's memory on a GPU does is judged once a second, over the time since the warm-up or the last ten minutes,
 * whichever is shorter (the window). Noticeable is 1 % of what the run has there, at least 8 MB. "It grows": after 4 s
 * or more even the low end of the slope's interval makes more than the noticeable over the window, and the last third
 * of the window has not come to rest.
 *
 *   leak           what the framework's allocator has handed out grows (gauge cuda.allocated_bytes) for 15 s and 50
 * batches or more, by 16 MB and 1 % or more, the last third at half the slope of the whole or more, without falling
 * back by a third fragmentation  what the allocator has taken (cuda.reserved_bytes), or the process has, grows and what
 * is handed out does not, though 30 % and 512 MB more are taken than were ever handed out at once (cuda.peak_bytes,
 * which does not grow): there would be room, but no piece is large enough. Or, where cuda.inactive_split_bytes is
 * published, such pieces grow, and are 512 MB and half of what is kept cache          what is taken, or what the
 * process has, grows and what is handed out does not: freed blocks that are kept, libraries' work space. The framework
 * gives blocks back before it runs out of memory growing        it grows, and it is none of these (yet): no allocator
 * is published, or too little was seen plateau        after 10 s or more nothing of what is known makes more than the
 * noticeable even at the high end of its interval; or after 30 s the last third of the window does not unknown all
 * else */
#ifndef PMTOP_MODEL_GPUS_GPUS_H
#define PMTOP_MODEL_GPUS_GPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/memory/verdict.h"
#include "src/model/statistics/series.h"
#include "src/model/statistics/statistics.h"
#include "src/samples/sample_set.h"

enum {
	GPUS_MAX = 64,
	GPU_PROCESSES_MAX = 64,
	GPU_EVENTS_RETAINED = 16,
	GPU_METRICS = METRIC_GPU_LAST - METRIC_GPU_FIRST + 1
};

struct gpu_process {
	int32_t pid;
	bool is_ours;  /* of the watched tree */
	unsigned kind; /* bits of enum gpu_process_kind */
	char command[64];
	double memory_bytes, busy_ratio;
};

#define GPU_SERIES(X) \
	X(busy_ratio) \
	X(sm_active_ratio) \
	X(memory_used_bytes) \
	X(run_memory_bytes) \
	X(power_w) \
	X(temperature_c) \
	X(clock_hz) \
	X(throttled)        /* 1 while anything holds it back that is power or heat, else 0 */ \
	X(throttled_heat)   /* 1 while it is heat, or hardware that does not say which of both */ \
	X(pcie_bytes_per_s) /* both directions */

/* Since pmtop first read it; a reading stands for the time since the one before, 10 s at most. NAN where it was never
 * told. */
struct gpu_whole {
	double mean, max;
};
struct gpu_totals {
	bool was_ours;  /* the run is on it, or was */
	uint64_t runs;  /* which of the model's runs are or were: a bit each */
	double seconds; /* for which its readings stand */
	struct gpu_whole busy_ratio, sm_active_ratio, memory_used_bytes, run_memory_bytes, power_w, temperature_c;
	double energy_joules;              /* by its counter */
	double received_bytes, sent_bytes; /* over PCIe */
	/* share of `seconds` in which power or heat held it back, as its reasons said when they were read */
	double throttled_ratio;
	double reason_ratio[GPU_THROTTLE_COUNT];       /* the same of each reason; several may hold at once */
	double throttled_power_s, throttled_thermal_s; /* by its counters */
};

struct gpu {
	int32_t instance, parent; /* parent: of a part (MIG), the instance of its GPU; −1 */
	unsigned index;
	char vendor[16], name[64], uuid[64], pci[20], driver[48];
	char lost[96];                 /* why it no longer answers; empty = it does */
	int64_t seen_ns, processes_ns; /* its newest figure, and list of processes; 0 = none yet */
	double now[GPU_METRICS];       /* last value of each metric, from METRIC_GPU_FIRST on; gpu_now() */
	double per_s[GPU_METRICS];     /* of counters; gpu_rate() */
	unsigned throttle;             /* bits 1 << enum gpu_throttle; 0 also where it is not known */
	double power_w;                /* as told, or by its energy counter where it is not */
	double throttled_power_ratio, throttled_thermal_ratio; /* shares of the time between the last two readings */
	size_t process_count;
	struct gpu_process processes[GPU_PROCESSES_MAX]; /* the run's first, then by memory */
	/* the run's use of it */
	/* a process of the run is on it; where processes are hidden: it is the one that their environment names */
	bool is_ours;
	bool is_ours_by_place;                   /* known by their environment only */
	double run_memory_bytes, run_busy_ratio; /* sums over its processes on it */
	double others_memory_bytes;              /* of processes that are not the run's */
	/* what the run's memory on it does, in the words of struct memory; leak and cache need the framework's allocator
	 * (allocated grows / reserved alone does) */
	enum memory_verdict verdict;
	struct slope slope;     /* of the run's memory; points 0 = not known */
	double slope_per_batch; /* NAN */
	double full_in_s;       /* when its memory is full if that goes on (growing, leak, fragmentation); NAN */
	struct gpu_totals totals;
#define GPU_SERIES_MEMBER(name) struct series *name;
	struct {
		GPU_SERIES(GPU_SERIES_MEMBER)
	} series;
#undef GPU_SERIES_MEMBER
};

struct gpu_happening {
	int64_t time_ns;
	int32_t instance;
	unsigned code;
	char text[96];
};

struct gpus {
	size_t count;
	struct gpu *gpus;         /* in the order of vendors and their numbers, parts after their GPU */
	uint64_t happening_count; /* all; the newest GPU_EVENTS_RETAINED are kept, at [number % GPU_EVENTS_RETAINED] */
	struct gpu_happening happenings[GPU_EVENTS_RETAINED];
};

struct model;
struct run;

double gpu_now(const struct gpu *gpu, enum metric metric);
double gpu_rate(const struct gpu *gpu, enum metric metric);
/* The words of what holds it back, joined by ", "; "" where nothing does. Returns out. */
const char *gpu_throttle_words(unsigned throttle, char *out, size_t size);
/* Of bits: whether it is power or heat (not a choice of somebody, nor another GPU). */
bool gpu_is_throttled(unsigned throttle);
const struct gpu *model_gpu(const struct model *model, int32_t instance); /* NULL: not seen */
/* Those that this run (a rank) is on: by its processes, else by LOCAL_RANK and CUDA_VISIBLE_DEVICES of its environment
 * or its meta; of one that is over, those that it was on. Of a part its GPU is not among them. Returns how many; run
 * NULL: the whole tree's. */
size_t run_gpus(const struct model *model, const struct run *run, const struct gpu *out[GPUS_MAX]);
/* What the run's processes have there: its share of run_memory_bytes. NAN. */
double gpu_memory_of_run(const struct model *model, const struct run *run, const struct gpu *gpu);
/* The same of all GPUs that it is on; run NULL: of the tree. */
double run_gpu_memory(const struct model *model, const struct run *run);
/* What is known of all GPUs that a run uses together: means of ratios and clocks, sums of bytes and watts, the most of
 * temperatures and the like, all bits of GPU_THROTTLE; of counters the sum of their rates. What a part does not tell is
 * its GPU's. NAN. */
double run_gpu_figure(const struct model *model, const struct run *run, enum metric metric);
bool gpu_has_parts(const struct model *model, const struct gpu *gpu);
/* "GPU 0", "GPU 1.2" (a part), "AMD GPU 0" where there are several vendors. Returns out. */
const char *gpu_label(const struct model *model, const struct gpu *gpu, char *out, size_t size);

bool gpu_memory_is_growing(const struct gpu *gpu); /* growing, leak or fragmentation */
/* What the verdict means, and what to do next, a sentence each; never NULL. */
const char *gpu_memory_meaning(const struct gpu *gpu);
const char *gpu_memory_next_step(const struct gpu *gpu);

#endif
