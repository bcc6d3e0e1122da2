/* stacks_loops_choose.h: which of the loops that were seen has the steps. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_CHOOSE_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_CHOOSE_H

#include "src/sources/inferred/steps/stacks_loops_private.h"

enum { STACKS_SHORT_MAX = 64 }; /* more items are not the parts of a step */

/* Whether enough was seen for a choice. */
bool stacks_loops_may_choose(const struct stacks_loops *loops, int64_t now_ns);
/* What counts the steps best. NULL: not known (yet). */
struct seen *stacks_loops_find_steps(struct stacks_loops *loops);
/* Whether a person chose the loop at this line: --loop=FILE:LINE. */
bool stacks_loops_wants(const struct stacks_loops *loops, const char *file, int line);
/* The same of a loop that was seen. */
bool stacks_loop_is_wanted(const struct stacks_loops *loops, const struct seen *seen);
/* Whether both are of the same loop. */
bool stacks_loop_is_of(const struct seen *seen, const struct seen *steps);
/* Whether it is such a loop as `around` has. */
bool stacks_loop_has_loader_within(const struct stacks_loops *loops, const struct seen *seen);
/* Directly inside `outer`. */
bool stacks_loop_is_within(const struct seen *seen, const struct seen *outer);
/* How well this counts the iterations of its loop; the lower the better, −1: not at all. */
int stacks_loop_quality(const struct seen *seen);
/* A variable stands for a loop only if that is a while loop. */
bool stacks_loop_is_one(const struct stacks_loops *loops, const struct seen *seen);
/* A loop that nearly each reading finds begun anew is over before its position can be followed: a few minibatches. */
bool stacks_loop_is_too_short(const struct seen *seen);
/* asyncio's loop over what is ready, around all that a coroutine does. */
bool stacks_loop_is_of_standard_library(const struct seen *seen);
/* Iterations that were seen to pass. */
double stacks_loop_per_second(const struct seen *seen);

#endif
