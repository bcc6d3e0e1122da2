/* stacks_loops_bound.h: how many steps there are in all, where an int counts them. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_BOUND_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_BOUND_H

#include "src/sources/inferred/steps/stacks_loops_private.h"

/* This instruction ran in the loop, or in its code; `trains`: in training. */
void stacks_loop_note_work(struct seen *seen, uint64_t ip, bool trains);
/* Fills `end`, and once where its int advances, if the step loop was just read. */
void stacks_loops_find_end(struct stacks_loops *loops);
/* Of steps whose int goes on through all epochs: how many the run has, and *done: the one in progress included. 0 =
 * unknown. */
uint64_t stacks_loops_whole(const struct stacks_loops *loops, uint64_t *done);
/* Whether further readings may show how many steps there are. */
bool stacks_loops_awaits_pace(const struct stacks_loops *loops);
/* During the step at this position (1 = the first), `seen`, which ends the step loop at `end`, was `value`. Returns how
 * many steps there are in all, 0 = unknown. */
uint64_t stacks_loops_note_pace(
	struct stacks_loops *loops, const struct seen *seen, uint64_t position, uint64_t value, uint64_t end);

#endif
