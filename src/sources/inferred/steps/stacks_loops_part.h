/* stacks_loops_part.h: loops of epochs that are no more than a part of a run: of one fold, one client, one trial, or
 * the passes over what was collected for one update. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_PART_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_PART_H

#include "src/sources/inferred/steps/stacks_loops_private.h"

/* How many epochs it has says nothing of the whole run then. */
bool stacks_loops_is_part(const struct stacks_loops *loops, const struct seen *epochs);
/* Whether a loop of this file calls the function that trains once for each trial. */
bool stacks_loops_tries_runs(const char *file);
/* Whether something was read that counts the loop at this depth of its code. */
bool stacks_loops_has_read(const struct stacks_loops *loops, uint64_t code, size_t depth);
/* The level of the outermost frame of the user's own code in which nothing counts a loop (`while True:`) around what it
 * calls. 0: there is none. */
size_t stacks_loops_find_uncounted(const struct stacks_loops *loops, const struct py_sample *sample);

#endif
