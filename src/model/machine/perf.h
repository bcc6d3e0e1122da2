/* perf.h: hardware and software perf counters of the target's process tree. NAN = unknown or not counted.
 *
 * Counts are per process, all threads. If the CPU has too few counters the kernel multiplexes them: counts are scaled
 * to the whole time, and counted_ratio is the share of the time in which they were counted. */
#ifndef PMTOP_MODEL_MACHINE_PERF_H
#define PMTOP_MODEL_MACHINE_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/statistics/series.h"
#include "src/samples/sample_set.h"

enum { PERF_PROCESSES_MAX = 128 };

struct perf_event_now {
	bool is_used;
	enum perf_role role;
	char name[64];
	double per_s;          /* sum over the process tree, between the last two readings */
	double total;          /* since pmtop began to count, including ended processes */
	double counted_ratio;  /* minimum over all processes */
	struct series *series; /* of per_s */
};

struct perf_process {
	int32_t pid;
	double per_s[PERF_EVENTS_MAX], total[PERF_EVENTS_MAX];
};

struct perf {
	int64_t since_ns, seen_ns; /* first and latest count; 0 = nothing was counted */
	unsigned event_count;      /* events[0 … event_count − 1], some may be unused */
	struct perf_event_now events[PERF_EVENTS_MAX];
	size_t process_count;
	struct perf_process *processes;
	/* derived figures */
	double cpus;     /* CPU time ÷ elapsed time */
	double ipc;      /* instructions ÷ cycles */
	double clock_hz; /* cycles ÷ CPU time */
	double cache_miss_ratio, branch_miss_ratio;
	double stalled_front_ratio, stalled_back_ratio; /* of cycles */
	double flops_per_s, flops_per_batch, flops_per_sample;
	double bytes_per_s; /* memory traffic of all sockets, all processes */
	/* FLOPs ÷ byte of memory traffic: only if the process tree uses nearly all of the machine's used CPU time */
	double intensity;
	struct series *ipc_series, *flops_series;
};

struct model;
struct run;

/* NULL: no event of this role is counted. */
const struct perf_event_now *perf_find(const struct perf *perf, enum perf_role role);
/* Model FLOPs utilisation: meta flops_per_sample × samples/s ÷ meta peak_flops (FLOP/s); NAN if one of them is not
 * published. Definition: Chowdhery et al. 2022 (PaLM), appendix B. */
double run_mfu(const struct model *model, const struct run *run);

/* -- within src/model -- */

struct record;

void model_init_perf(struct model *model);
void model_free_perf(struct model *model);
void model_take_perf_event(struct model *model, const struct record *record);
void model_take_perf_count(struct model *model, const struct record *record);
void model_refresh_perf(struct model *model);

#endif
