/* stacks_whole.h: how far the run is, where the passes over a DataLoader are its steps, and an int counts the steps of
 * all passes up to its end: `while step < max_steps: for batch in loader: step += 1`. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_WHOLE_H
#define PMTOP_SOURCES_INFERRED_STACKS_WHOLE_H

#include "src/sources/inferred/steps/stacks_loops.h"

/* Zeroed at first. */
struct stacks_whole {
	const struct seen *seen; /* the int; NULL: none was found yet */
	int64_t since_ns;        /* of that entry, which another loop may get */
	int64_t read_ns;         /* of the last reading */
	/* Of the pass, as last polled; batches of all passes since the first poll; and when the int was read first. */
	uint64_t serial, yielded, passed, passed_before;
	uint64_t first;         /* what the int was then */
	unsigned agreed;        /* readings in which it had advanced as batches came */
	uint64_t done, planned; /* batches; planned 0 = unknown */
	uint64_t each; /* batches of a step that the int has counted: those of one that has not ended are missing */
	bool is_new;   /* they are of this poll */
};

/* `pass`: that of training in progress, just polled. */
void stacks_whole_poll(
	struct stacks_whole *whole, struct stacks_loops *loops, const struct py_counted *pass, int64_t now_ns);
/* The same where such an int counts the steps itself. */
void stacks_whole_take(struct stacks_whole *whole, const struct stacks_loops *loops);

#endif
