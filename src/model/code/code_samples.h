/* code_samples.h: the stack samples of the last minutes, in order: which line of the user's code ran during a step.
 *
 * A process is sampled about ten times a second, more often while a cause is sought (src/sources/inferred/stacks.c), so
 * a short step has few samples, or none. */
#ifndef PMTOP_MODEL_CODE_CODE_SAMPLES_H
#define PMTOP_MODEL_CODE_CODE_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "src/model/code/code.h"

/* The line whose samples exceed by the most what its share in all samples of the process lets expect. */
struct sampled_line {
	const char *file, *text; /* text NULL: unknown. Both live as long as the model */
	uint32_t line;           /* 0 = no line has more than expected */
	unsigned count;          /* its samples in the window */
	double expected;         /* by its share */
	enum code_phase phase;   /* in which it spends the most time */
	unsigned samples;        /* of the process in the window */
	bool is_sampled;         /* the process's stacks are sampled at all */
};

/* Samples by phase. A sample weighs the mean time between samples at that time, because the sampling rate varies. */
struct phase_sums {
	unsigned samples, counts[CODE_PHASE_COUNT];
	double weight_s, weight_s2; /* sum of the weights, and of their squares */
	double phase_s[CODE_PHASE_COUNT];
};

struct model;
struct record;

/* -- within src/model -- */

/* Adds those of the main thread of a process, from from_ns to before to_ns. */
void model_sum_phases(const struct model *model, int32_t pid, int64_t from_ns, int64_t to_ns, struct phase_sums *sums);
/* The time from which on samples are retained; INT64_MAX: there are none. */
int64_t model_samples_since(const struct model *model);

/* Of the main thread of a process, from from_ns to to_ns. */
void model_sampled_line(
	const struct model *model, int32_t pid, int64_t from_ns, int64_t to_ns, struct sampled_line *out);
void model_take_code_samples(struct model *model, const struct record *record);
void model_free_code_samples(struct model *model);

#endif
