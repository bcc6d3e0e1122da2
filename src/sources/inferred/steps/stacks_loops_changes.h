/* stacks_loops_changes.h: counts the steps of a loop that nothing counts by how often a variable that it assigns is
 * seen to hold another object (PY_LOOP_CHANGES in py_loops.h). Two changes between two polls may look like none, so
 * this is for steps that last several polls: a trial finds out whether they do, and they are watched all the while. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_CHANGES_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_CHANGES_H

#include "src/sources/inferred/steps/stacks_loops_private.h"

/* Begins a trial of the loop that is why no steps are known, or that a person chose. */
void stacks_loops_changes_try(struct stacks_loops *loops, const struct py_sample *sample, int64_t now_ns);
/* Whether the trial goes on. */
bool stacks_loops_changes_is_tried(const struct stacks_loops *loops);
/* Reads it if it is around this sample. It has a position once the trial has ended well. False: there is none. */
bool stacks_loops_changes_read(
	struct stacks_loops *loops, const struct py_sample *sample, struct py_loop *out, int64_t now_ns);
/* What was sampled before it was first read was in this loop, too: else it would not be tried. */
void stacks_loops_changes_inherit(const struct stacks_loops *loops, struct seen *seen);
/* Whether those that are counted have become so. */
bool stacks_loops_changes_are_too_short(const struct stacks_loops *loops);
/* A poll has found the steps further. False: they have become too short. */
bool stacks_loops_changes_go_on(struct stacks_loops *loops, int64_t now_ns);

#endif
