/* stacks_loops_alone.h: a step loop that no other loop is around: what follows it is other work. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_ALONE_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_ALONE_H

#include "src/sources/inferred/steps/stacks_loops_private.h"

/* Whether no loop runs around the step loop, in its frame or in those that call it. `sample`: it was just read in it.
 */
bool stacks_loops_find_alone(const struct stacks_loops *loops, const struct py_sample *sample);
/* Forgets what was seen of other loops, and how often: the next one is chosen by what it does from now on. The step
 * loop remains it until then. */
void stacks_loops_forget_past(struct stacks_loops *loops);
/* Whether this loop may be the next one: not if it validates, by its words. */
bool stacks_loops_may_follow(const struct seen *next);

#endif
