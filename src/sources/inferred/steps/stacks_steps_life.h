/* stacks_steps_life.h: the inferred steps of a process come, begin anew, and are given up. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_STEPS_LIFE_H
#define PMTOP_SOURCES_INFERRED_STACKS_STEPS_LIFE_H

#include "src/sources/inferred/steps/stacks_steps.h"

/* `number`: index of the process among those with inferred steps. NULL when out of memory. */
struct stacks_steps *stacks_steps_new(unsigned number, pid_t pid, uint64_t start_ticks, const char *name);
void stacks_steps_free(struct stacks_steps *steps);
/* Forgets all counts: those that follow are of another loop, and of another run of the process. `what`: until the next
 * stacks_steps_describe. */
void stacks_steps_begin_anew(struct stacks_steps *steps, const struct stacks_what *what);
/* Forgets all counts: the steps are unknown from now on, until others are counted. */
void stacks_steps_withdraw(struct stacks_steps *steps);

#endif
