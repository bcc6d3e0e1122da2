/* stacks_loops.h: chooses, of all loops of a Python process (py_loops.h), the one whose iterations are the steps of
 * training, and the epoch loop around it, and counts the steps.
 *
 * The step loop is the innermost loop in which the optimizer runs; if the optimizer was never sampled, the innermost
 * one in which backward runs; if no PyTorch runs, the innermost one in which most of the time passes and that turns at
 * most 2000 times a second. A while loop is counted by an int that it advances. The epoch is that of
 * stacks_loops_epoch.c. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_H

#include "src/sources/inferred/sums/stacks_lines.h"
#include "src/sources/python/counters/py_counter.h"
#include "src/sources/python/loops/py_loops.h"

struct stacks_loops;

/* What pmtop counts: the text of the loop's line ("" = unknown), or of a while loop the int that counts it. */
struct stacks_counted_loop {
	const char *text, *name, *file;
	int line;
	bool has_training;      /* backward or the optimizer was seen to run in it */
	bool is_certain;        /* and the position is an iterator's own */
	bool is_at_least;       /* steps may be missed */
	unsigned micro_batches; /* iterations of a loop inside it that accumulates gradients; 0 = none known */
};

/* number: 1 = the first; 0 = unknown. count: of all epochs; 0 = unknown. Passes with the same key are in one epoch. */
struct stacks_epoch {
	uint64_t number, count, key;
};

/* NULL: pmtop cannot read this Python's objects, or out of memory. `wanted`: FILE:LINE of the step loop, chosen by a
 * person; NULL: none. Both must outlive the result. `is_from_start`: pmtop has watched the process since its start. */
struct stacks_loops *stacks_loops_new(const struct py_process *process, const char *wanted, bool is_from_start);
void stacks_loops_free(struct stacks_loops *loops);
/* From now on this loop counts, as `wanted` of stacks_loops_new. The pass that is counted now ends unseen. */
void stacks_loops_choose(struct stacks_loops *loops, const char *wanted);
/* Call right after a sample; `lines` and `owner` as for stacks_lines_text. Until `has_steps`, which says that the steps
 * are counted elsewhere, the step loop is sought. */
void stacks_loops_note(struct stacks_loops *loops, const struct py_sample *sample, struct stacks_lines *lines,
	struct stacks_owner *owner, bool has_steps, int64_t now_ns);
/* Whether the chosen steps have become too short to count since the last call: then none are chosen any more. */
bool stacks_loops_is_withdrawn(struct stacks_loops *loops);
/* Whether other steps have been chosen since the last call, of the same work: those counted before are no part of them.
 */
bool stacks_loops_is_other(struct stacks_loops *loops);
/* False: no loop of steps was chosen yet. */
bool stacks_loops_chosen(const struct stacks_loops *loops, struct stacks_counted_loop *out);
/* Whether a pass is polled now. */
bool stacks_loops_is_running(const struct stacks_loops *loops);
/* Whether samples close to each other are wanted, to learn how short a loop is. */
bool stacks_loops_reads_closely(const struct stacks_loops *loops, int64_t now_ns);
/* The current pass, read just after the sample, which lies in it. False: there is none. */
bool stacks_loops_live(
	struct stacks_loops *loops, const struct py_sample *sample, int64_t now_ns, struct py_counted *out);
/* The pass that has just ended was no training: its iterations are no steps of the epoch. */
void stacks_loops_set_aside(struct stacks_loops *loops);
/* Counts the steps as py_counter_poll does batches: the current pass, if there is one. */
size_t stacks_loops_poll(struct stacks_loops *loops, int64_t now_ns, const struct py_counted **out);
/* Until then, an epoch loop around steps that are counted elsewhere is sought more often. */
void stacks_loops_await_epoch(struct stacks_loops *loops, int64_t until_ns);
/* The steps are counted elsewhere from now on: the next poll ends the pass. */
void stacks_loops_stop(struct stacks_loops *loops);

/* -- within src/sources/inferred -- */

struct seen; /* stacks_loops_private.h */

/* The iteration in progress, from 1. A variable mostly counts what has ended: the step in progress is one more. */
uint64_t stacks_loop_position(const struct seen *seen);

#endif
