/* stacks_steps.h: infers the steps of a run without instrumentation from the counts of its DataLoaders
 * (py_counter.h), and emits them as epochs, batches and modes of a run.
 *
 * A batch begins when the loader delivers it and ends when it delivers the next one, so a batch is a whole step; its
 * phases are unknown. Times are those of the poll that saw the count change: if batches are shorter than a few
 * polls, several are emitted together, each with the mean time. Words in the code distinguish validation loops from
 * training loops. Batches before pmtop's start count only for the epoch that was in progress. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_STEPS_H
#define PMTOP_SOURCES_INFERRED_STACKS_STEPS_H

#include "src/samples/sample_set.h"
#include "src/sources/inferred/job/stacks_job.h"
#include "src/sources/python/counters/py_counter.h"

#define STEPS_ABI "counted" /* in RECORD_RUN_OPENED; no region has this value */

struct stacks_steps;

/* What is counted, for people: the loop's text ("" = the DataLoader), or of a while loop the int that counts. */
struct stacks_what {
	char text[128], file[512];
	int line;
	bool is_certain, is_at_least;
	bool is_chosen;         /* by a person */
	unsigned micro_batches; /* in a step; 0 = none, or unknown */
};
/* Whether the process does not end with the target. */
bool stacks_steps_is_elsewhere(const struct stacks_steps *steps);
/* The number of the epoch in progress may become known until then: the first output waits. */
void stacks_steps_await_epoch(struct stacks_steps *steps, int64_t until_ns);
/* The program's newest loss, as read at this time; NAN = none. A batch of training gets it if that time is in it, and
 * the loss has changed since. */
void stacks_steps_note_loss(struct stacks_steps *steps, double loss, int64_t read_ns);
/* Call after stacks_steps_take: how many batches of the whole run had ended at that poll, less up to `slack`, and how
 * many it has; planned 0 = unknown. */
void stacks_steps_note_whole(struct stacks_steps *steps, uint64_t done, uint64_t planned, uint64_t slack);
/* Takes polled counts of this process; `text`: the source of a loop's line, NULL = unknown. Called by the stack
 * thread, under the lock, as are the next calls. */
void stacks_steps_take(struct stacks_steps *steps, const struct py_counted *counted, size_t count,
	const char *const *texts, int64_t now_ns);
/* The moving average of the step time; NAN = unknown. */
double stacks_steps_step_s(const struct stacks_steps *steps);
/* Whether no new batch has come for far longer than a batch takes, but not for ever. */
bool stacks_steps_is_stalled(const struct stacks_steps *steps, int64_t now_ns);
/* The time of the next poll. */
int64_t stacks_steps_next_ns(const struct stacks_steps *steps, int64_t now_ns);
/* The process has ended, and all its epochs. No counts are taken after this. */
void stacks_steps_end(struct stacks_steps *steps, int64_t now_ns);

#endif
