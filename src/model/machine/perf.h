/* perf.h: what the CPUs' counters (and the kernel's own) say of the watched tree. Unknown is NAN; what was not counted
 * is not 0.
 *
 * Counted is per process, all threads; values were scaled up to the whole time where the CPU had too few counters, and
 * counted_ratio says how much of it was really counted. */
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
	double per_s;          /* over the tree, between the last two readings */
	double total;          /* since pmtop began to count, ended processes included */
	double counted_ratio;  /* the least of any process */
	struct series *series; /* of per_s */
};

struct perf_process {
	int32_t pid;
	double per_s[PERF_EVENTS_MAX], total[PERF_EVENTS_MAX];
};

struct perf {
	int64_t since_ns, seen_ns; /* first and newest count; 0 = nothing was counted */
	unsigned event_count;      /* events[0 … event_count − 1], some may be unused */
	struct perf_event_now events[PERF_EVENTS_MAX];
	size_t process_count;
	struct perf_process *processes;
	/* what follows from them */
	double cpus;     /* CPU time ÷ time */
	double ipc;      /* instructions ÷ cycles */
	double clock_hz; /* cycles ÷ CPU time */
	double cache_miss_ratio, branch_miss_ratio;
	double stalled_front_ratio, stalled_back_ratio; /* of cycles */
	double flops_per_s, flops_per_batch, flops_per_sample;
	double bytes_per_s; /* memory traffic of the sockets, all programs */
	/* FLOPs ÷ byte of memory traffic: only where the tree uses nearly all CPU time of the machine */
	double intensity;
	struct series *ipc_series, *flops_series;
};

struct model;
struct run;

/* NULL: nothing of this role is counted. */
const struct perf_event_now *perf_find(const struct perf *perf, enum perf_role role);
/* Model FLOPs utilisation: FLOPs a sample as published (meta flops_per_sample) × samples a second ÷ peak FLOPs a second
 * (meta peak_flops); NAN where one of them is not published. Definition: Chowdhery et al. 2022 (PaLM), appendix B. */
double run_mfu(const struct model *model, const struct run *run);

#endif
