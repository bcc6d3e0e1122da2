/* code_samples.h: the stack samples of the last minutes, in order: which line of the user's code ran during a step.
 *
 * A process is sampled about ten times a second, more often while a cause is sought (src/sources/inferred/stacks.c), so
 * a short step has few samples, or none. */
#ifndef PMTOP_MODEL_CODE_CODE_SAMPLES_H
#define PMTOP_MODEL_CODE_CODE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/code/code.h"

/* The line whose samples exceed by the most what its share in the process's samples outside flagged steps lets expect.
 */
struct sampled_line {
	const char *file, *text; /* text NULL: unknown. Both live as long as the model */
	uint32_t line;           /* 0 = no line has more than expected */
	unsigned count;          /* its samples in the window */
	double expected;         /* by its share */
	enum code_phase phase;   /* in which it spends the most time */
	unsigned samples;        /* of the process in the window */
	bool is_sampled;         /* the process's stacks are sampled at all */
};

/* Samples by phase. A sample weighs the time until the next one, because the sampling rate varies. */
struct phase_sums {
	unsigned samples, counts[CODE_PHASE_COUNT], own_waits; /* own_waits: of code_is_own_wait() */
	double weight_s, weight_s2;                            /* sum of the weights, and of their squares */
	double phase_s[CODE_PHASE_COUNT];
};

/* The innermost line of the user's own code in the newest sample of a main thread, or if that has none, of the only
 * thread that has one; without any, of its whole stack. */
struct newest_line {
	const char *file, *text, *function; /* text NULL: unknown. All live as long as the model */
	uint32_t line;                      /* 0 = unknown */
	const char *communication;          /* of code_communication() */
	enum code_phase phase;              /* of the whole stack */
	bool is_own_wait;                   /* code_is_own_wait() of the whole stack */
	int64_t time_ns;                    /* of the sample */
};

struct model;
struct record;
struct run;

/* False: the main thread of the process was not sampled. */
bool code_newest_line(const struct model *model, int32_t pid, struct newest_line *out);

/* -- within src/model -- */

/* Adds those of the main thread of a process, from from_ns to before to_ns. */
void model_sum_phases(const struct model *model, int32_t pid, int64_t from_ns, int64_t to_ns, struct phase_sums *sums);
/* Whether the main thread of a process works: at most four in five of its samples in the window, of at least three,
 * have the same stack. One that hangs has one stack; so has one that is in a long call of C code. */
bool model_is_working(const struct model *model, int32_t pid, int64_t from_ns, int64_t to_ns);
/* How many stacks the main thread of a process repeats, as a loop does whose end never comes: at most eight in at least
 * 20 samples, the second half of the window has no new one, and none calls a library whose phase is known (torch, a
 * loader, a checkpoint). One may also be a long call of C code. 0: it does not, or it is unknown. */
size_t model_repeated_stacks(const struct model *model, int32_t pid, int64_t from_ns, int64_t to_ns);
/* The time from which on samples are retained; INT64_MAX: there are none. */
int64_t model_samples_since(const struct model *model);
/* How many of `count` evenly spaced samples from begin_ns to end_ns are in the window. */
unsigned code_samples_within(int64_t begin_ns, int64_t end_ns, unsigned count, int64_t from_ns, int64_t to_ns);
/* All samples of a group (by index) so far. */
double model_code_samples_counted(const struct model *model, size_t group);

/* Of the main thread of the run's process, from from_ns to to_ns. */
void model_sampled_line(
	const struct model *model, const struct run *run, int64_t from_ns, int64_t to_ns, struct sampled_line *out);
void model_take_code_samples(struct model *model, const struct record *record);
void model_free_code_samples(struct model *model);

#endif
