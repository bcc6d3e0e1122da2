/* gpus.h: the GPUs that a run can use, as reported by their drivers, and the run's use of them. NAN = unknown.
 *
 * Rates are between a counter's last two readings. "The run" means all processes of the target's process tree that the
 * driver lists. A figure becomes unknown when the driver has not reported it for 15 s and for four times its
 * interval; limits and sizes stay as long as the GPU reports anything. All figures of a GPU become unknown after the
 * same time without any report.
 *
 * The verdict on the run's memory is renewed once per second. The window is the time since the warm-up, ten minutes at
 * most. "Noticeable" is 1 % of the run's memory on the GPU, at least 8 MB. A figure "grows" if, after 4 s or more, even
 * the low end of its slope's interval exceeds the noticeable over the window, and the last third of the window is not
 * at rest. Allocated memory is the gauge cuda.allocated_bytes of the framework's allocator, reserved memory
 * cuda.reserved_bytes, or the memory of the processes.
 *
 *   leak           allocated memory grows for 15 s and 50 batches or more, by 16 MB and 1 % or more, in the last third
 *                  at half the whole slope or more, and does not fall back by a third
 *   fragmentation  reserved memory grows and allocated memory does not, although 30 % and 512 MB more are reserved than
 *                  were ever allocated at once (cuda.peak_bytes, which does not grow): no free block is large enough.
 *                  Or cuda.inactive_split_bytes grows, and is above 512 MB and half of the free reserved memory
 *   cache          reserved memory grows and allocated memory does not: cached free blocks, work space of libraries.
 *                  The framework frees cached blocks before it runs out of memory
 *   growing        memory grows, and none of the above applies (yet): no allocator is published, or not enough data
 *   plateau        after 10 s or more no figure exceeds the noticeable even at the high end of its interval; or, after
 *                  30 s, in the last third of the window
 *   unknown        none of these */
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
	bool is_ours;  /* of the target's process tree */
	unsigned kind; /* bits: enum gpu_process_kind */
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
	X(throttled)        /* 1 while throttled by power or heat, else 0 */ \
	X(throttled_heat)   /* 1 while throttled by heat, or by the hardware for an unspecified reason */ \
	X(pcie_bytes_per_s) /* both directions */

/* Mean and maximum since pmtop's first reading. A reading stands for the time since the previous one, 10 s at most. NAN
 * = never reported. */
struct gpu_whole {
	double mean, max;
};
struct gpu_totals {
	bool was_ours;  /* the run uses it, or has used it */
	uint64_t runs;  /* bit mask of the model's runs that use it or have used it */
	double seconds; /* covered by its readings */
	struct gpu_whole busy_ratio, sm_active_ratio, memory_used_bytes, run_memory_bytes, power_w, temperature_c;
	double energy_joules;              /* from its energy counter */
	double received_bytes, sent_bytes; /* over PCIe */
	/* share of `seconds` in which it was throttled by power or heat, from its throttle reasons */
	double throttled_ratio;
	double reason_ratio[GPU_THROTTLE_COUNT];       /* the same per reason; several may apply at once */
	double throttled_power_s, throttled_thermal_s; /* from its counters */
};

struct gpu {
	int32_t instance, parent; /* parent: for a part (MIG), the instance of its GPU; else −1 */
	unsigned index;
	char vendor[16], name[64], uuid[64], pci[20], driver[48];
	char lost[96];                 /* why it no longer answers; empty = it answers */
	int64_t seen_ns, processes_ns; /* times of its latest figure and list of processes; 0 = none yet */
	double now[GPU_METRICS];       /* latest value of each metric, indexed from METRIC_GPU_FIRST; use gpu_now() */
	double per_s[GPU_METRICS];     /* rates of counters; use gpu_rate() */
	unsigned throttle;             /* bits 1 << enum gpu_throttle; 0 also if unknown */
	double power_w;                /* as reported, else from its energy counter */
	double throttled_power_ratio, throttled_thermal_ratio; /* shares of the time between the last two readings */
	size_t process_count;
	struct gpu_process processes[GPU_PROCESSES_MAX]; /* the run's first, then by descending memory */
	/* use by the run */
	/* a process of the run uses it; if the driver hides processes, the run's environment selects it */
	bool is_ours;
	bool is_ours_by_place;                   /* known by their environment only */
	double run_memory_bytes, run_busy_ratio; /* sums over its processes on it */
	double others_memory_bytes;              /* of processes that are not the run's */
	/* what the run's memory on it does, in the words of struct memory; leak and cache need the framework's allocator
	 * (allocated grows / reserved alone does) */
	enum memory_verdict verdict;
	struct slope slope;     /* of the run's memory; points 0 = not known */
	double slope_per_batch; /* NAN */
	double full_in_s; /* time until its memory is full at this slope (growing, leak, fragmentation); NAN = unknown */
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
	struct gpu *gpus; /* sorted by instance, parts after their GPU */
	uint64_t
		happening_count; /* total; the latest GPU_EVENTS_RETAINED are in a ring, at [number % GPU_EVENTS_RETAINED] */
	struct gpu_happening happenings[GPU_EVENTS_RETAINED];
};

struct model;
struct run;

double gpu_now(const struct gpu *gpu, enum metric metric);
double gpu_rate(const struct gpu *gpu, enum metric metric);
const struct gpu *model_gpu(const struct model *model, int32_t instance); /* NULL: unknown */

/* -- within src/model -- */

struct record;

void model_init_gpus(struct model *model);
void model_free_gpus(struct model *model);
void model_take_gpu(struct model *model, const struct record *record);
void model_take_gpu_processes(struct model *model, const struct record *record);
void model_take_gpu_event(struct model *model, const struct record *record);

/* False: not a figure of a GPU. */
bool model_take_gpu_figure(struct model *model, const struct record *record);
void model_refresh_gpus(struct model *model);

#endif
