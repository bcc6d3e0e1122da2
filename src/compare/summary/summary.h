/* summary.h: the figures of one run that comparisons need, made from a model (keeper.h) or read from a file
 * (summary_file.h).
 *
 * Seconds and bytes are doubles, NAN = unknown. Steps are those of mode train without the warm-up. Of a long run it
 * keeps one step of each `stride`, drawn at random (with a fixed seed), so that periods of the run do not alias. */
#ifndef PMTOP_COMPARE_SUMMARY_SUMMARY_H
#define PMTOP_COMPARE_SUMMARY_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/compare/contrast.h"

enum {
	SUMMARY_STEPS_MAX = 2048,
	SUMMARY_PHASES_MAX = 18,
	SUMMARY_OPERATIONS_MAX = 96,
	SUMMARY_META_MAX = 64,
	SUMMARY_GAUGES_MAX = 32,
	SUMMARY_NAME = 64
};

enum summary_origin { ORIGIN_RUN, ORIGIN_RECORDING, ORIGIN_SAVED, ORIGIN_REPORT, ORIGIN_TRACE };

struct summary_phase { /* outermost phases; also the unattributed time and the time between batches */
	char name[SUMMARY_NAME];
	double total_s;             /* in the steps that were judged */
	double mean_s, share_ratio; /* mean of the middle steps (summary_finish); share of the total */
	double *seconds;            /* in each retained step, 0 if the step did not have it; NULL in a saved report */
};

struct summary_operation {
	char name[SUMMARY_NAME], parent[SUMMARY_NAME];
	unsigned depth;
	uint64_t count;
	double mean_s, p50_s, p95_s, total_s, share_ratio; /* share_ratio: NAN outside of steps */
};

struct summary_gauge {
	char name[SUMMARY_NAME];
	double last;
};

struct summary {
	enum summary_origin origin;
	char label[256]; /* what it was asked for by: a file, a pid */
	char command[128], run[128], host[64], mode[32], version[24];
	int64_t made_ns; /* the date of its end, ns since 1970; 0 = not known */
	double cpus;
	size_t meta_count;
	struct {
		char key[SUMMARY_NAME], value[200];
	} meta[SUMMARY_META_MAX];
	double batch_size; /* samples a batch */

	uint64_t batches;      /* finished in the whole run */
	uint64_t seen, warmup; /* steps without the warm-up; steps of the warm-up */
	uint64_t lost_events, epochs;
	uint64_t damaged_blocks, damaged_bytes; /* of its recording */
	double total_s;                         /* of the steps seen */
	double samples;                         /* in them */
	unsigned stride;
	size_t step_count;
	double *steps; /* the retained steps, in order of time */
	double median_s, mad_s, mean_s, p95_s, least_s, most_s;
	double middle_s; /* the mean of the middle steps, the sum of the phases' mean_s */
	double samples_per_s, steps_per_s, loss;

	unsigned phase_count;
	struct summary_phase phases[SUMMARY_PHASES_MAX];
	size_t operation_count;
	struct summary_operation operations[SUMMARY_OPERATIONS_MAX];
	/* of the tree; judged since the warm-up; of the framework's allocator */
	double peak_bytes, growth_bytes, gpu_peak_bytes;
	char verdict[24]; /* of the memory */

	/* of the steps with the warm-up; without steps, of the outermost operations */
	double train_s;
	double flops_per_sample, flops_per_s;
	double requests, request_failed_ratio, request_p50_s, request_p95_s, request_p99_s;
	/* of the GPUs that the run used, by the driver: the mean; the sum of the peaks */
	double gpu_busy_ratio, gpu_used_bytes;
	/* as metered, of the CPUs and these GPUs: of the whole run; means of the last 200 steps */
	double joules, joules_per_sample, joules_per_batch;
	size_t gauge_count;
	struct summary_gauge gauges[SUMMARY_GAUGES_MAX];
};

/* Sets all figures to unknown. */
void summary_init(struct summary *summary);
void summary_release(struct summary *summary);
/* Computes medians, means, shares and rates from the retained steps. Returns false when out of memory. */
bool summary_finish(struct summary *summary);
/* Whether it has single steps, which intervals need. */
bool summary_has_steps(const struct summary *summary);
const char *summary_meta(const struct summary *summary, const char *key); /* NULL: not published */
/* Whether a run without steps can be compared: it has operations or requests. */
bool summary_has_content(const struct summary *summary);
/* NULL: it has no phase of that name */
const struct summary_phase *summary_phase(const struct summary *summary, const char *name);
/* The operation of that name and of that parent (NULL: the one with the largest total). */
const struct summary_operation *summary_operation(const struct summary *summary, const char *name, const char *parent);
/* The last value of a gauge; NAN. */
double summary_gauge(const struct summary *summary, const char *name);
/* The middle steps: without the shortest and the longest 5 %. Fills `middle`; returns their number. */
size_t summary_middle(const struct summary *summary, size_t *middle);
/* Its name in tables: the file without the folder, else run and pid. */
const char *summary_name(const struct summary *summary);

#endif
