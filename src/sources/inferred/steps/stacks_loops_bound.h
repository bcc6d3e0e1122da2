/* stacks_loops_bound.h: how many steps there are in all, where an int counts them. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_BOUND_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_BOUND_H

#include "src/sources/inferred/steps/stacks_loops_private.h"

/* This instruction ran in the loop, or in its code; `trains`: in training. */
void stacks_loop_note_work(struct seen *seen, uint64_t ip, bool trains);
/* Fills `end`, and once where its int advances, if the step loop was just read. */
void stacks_loops_find_end(struct stacks_loops *loops);

#endif
