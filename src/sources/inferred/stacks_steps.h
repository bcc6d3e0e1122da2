/* stacks_steps.h: the batches of a run that publishes nothing, by what its DataLoaders count (py_counter.h), told as
 * those of a run: epochs, batches, modes.
 *
 * A batch begins when the loader hands it out and ends when it hands out the next, so a step is all of one batch; what
 * it is made of is not known. Times are those of the poll that saw it: where batches are shorter than some polls,
 * several are told together, each with the mean. Which loop is validation is told by its words. What was counted before
 * pmtop came counts for the pass that it came in only. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_STEPS_H
#define PMTOP_SOURCES_INFERRED_STACKS_STEPS_H

#include "src/samples/sample_set.h"
#include "src/sources/python/counters/py_counter.h"

#define STEPS_ABI "counted" /* of RECORD_RUN_OPENED: no region has it */

struct stacks_steps;

/* `number`: which of the processes that are counted it is, from 0. NULL when out of memory. */
struct stacks_steps *stacks_steps_new(unsigned number, pid_t pid, uint64_t start_ticks, const char *name);
void stacks_steps_free(struct stacks_steps *steps);
/* What was polled, of this process; `text`: what stands in a loop's line, NULL = not known. By the looking thread,
 * under the lock as the next. */
void stacks_steps_take(struct stacks_steps *steps, const struct py_counted *counted, size_t count,
	const char *const *texts, int64_t now_ns);
/* When to poll next. */
int64_t stacks_steps_next_ns(const struct stacks_steps *steps, int64_t now_ns);
/* The process has ended: so have its passes. Nothing is taken any more. */
void stacks_steps_end(struct stacks_steps *steps, int64_t now_ns);
/* Appends what is new; with `again` what one must be told who comes now. */
void stacks_steps_emit(struct stacks_steps *steps, bool again, int64_t now_ns, struct sample_set *out);

#endif
