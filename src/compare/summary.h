/* summary.h: what one run was like, in so little that two can be compared: made of a model (keeper.h), or read from a
 * file (summary_file.h).
 *
 * Seconds and bytes are doubles, unknown is NAN. Steps are those of mode train without the warm-up; of many, one of
 * each `stride` in a row, drawn with a fixed seed, so that no period of the run falls in with that of the drawing. */
#ifndef PMTOP_COMPARE_SUMMARY_H
#define PMTOP_COMPARE_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/compare/contrast.h"

enum {
	SUMMARY_STEPS_MAX = 2048,
	SUMMARY_PHASES_MAX = 18,
	SUMMARY_OPERATIONS_MAX = 64,
	SUMMARY_META_MAX = 64,
	SUMMARY_NAME = 64
};

enum summary_origin { ORIGIN_RUN, ORIGIN_RECORDING, ORIGIN_SAVED, ORIGIN_REPORT };

struct summary_phase { /* outermost; unattributed time and what lies between batches are phases too */
	char name[SUMMARY_NAME];
	double total_s;             /* in the steps that were judged */
	double mean_s, share_ratio; /* of those of the middle (summary_finish), and of the total */
	double *seconds;            /* of each kept step, 0 where it did not have it; NULL in a saved report */
};

struct summary_operation {
	char name[SUMMARY_NAME], parent[SUMMARY_NAME];
	unsigned depth;
	uint64_t count;
	double mean_s, p95_s, total_s, share_ratio;
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
	uint64_t seen, warmup; /* steps that were seen without the warm-up; what was left out as that */
	uint64_t lost_events, epochs;
	uint64_t damaged_blocks, damaged_bytes; /* of its recording */
	double total_s;                         /* of the steps seen */
	double samples;                         /* in them */
	unsigned stride;
	size_t step_count;
	double *steps; /* kept, in the order of time */
	double median_s, mad_s, mean_s, p95_s, least_s, most_s;
	double middle_s; /* the mean of the middle ones: what the phases' mean_s sum up to */
	double samples_per_s, steps_per_s, loss;

	unsigned phase_count;
	struct summary_phase phases[SUMMARY_PHASES_MAX];
	size_t operation_count;
	struct summary_operation operations[SUMMARY_OPERATIONS_MAX];
	/* of the tree; judged since the warm-up; of the framework's allocator */
	double peak_bytes, growth_bytes, gpu_peak_bytes;
	char verdict[24]; /* of the memory */
};

/* All is unknown. */
void summary_init(struct summary *summary);
void summary_release(struct summary *summary);
/* Makes the figures of what was kept: medians, means, shares, rates. False: out of memory. */
bool summary_finish(struct summary *summary);
/* Whether each step is known, so that differences have an interval. */
bool summary_has_steps(const struct summary *summary);
const char *summary_meta(const struct summary *summary, const char *key); /* NULL: not published */
/* NULL: it has none of that name */
const struct summary_phase *summary_phase(const struct summary *summary, const char *name);
/* The steps of the middle: without the shortest and the longest 5 %. Fills `middle`; returns how many. */
size_t summary_middle(const struct summary *summary, size_t *middle);
/* How it is told from others: its file without the folder, else run and pid. */
const char *summary_name(const struct summary *summary);

#endif
