/* stacks_loops_across.h: epochs of steps whose variable counts on through all of them (`self.state.iteration += 1`
 * within `while ...: self.state.epoch += 1`). Both are read with each poll: when what counts the epochs advances, the
 * next one has begun. Where steps are too short to be read one by one, which of them was its first is exact once only
 * one length of all epochs agrees with all readings; until then it is so to the steps between two polls. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_ACROSS_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_ACROSS_H

#include "src/sources/inferred/steps/stacks_loops_private.h"

/* Call after a reading: seeks what counts the epochs. */
void stacks_loops_across_find(struct stacks_loops *loops);
/* Call when the steps were just polled. Whether another epoch has begun, after across.begin steps: across.epoch if
 * across.is_on, or else an unknown one. */
bool stacks_loops_across_poll(struct stacks_loops *loops);
/* Of a loop that has ended: takes the steps that began after the last poll. False: there were none, or the next epoch
 * has begun, too. */
bool stacks_loops_across_left(struct stacks_loops *loops);
/* Steps of the epoch in progress; 0 = unknown. */
uint64_t stacks_loops_across_length(const struct stacks_loops *loops);

#endif
