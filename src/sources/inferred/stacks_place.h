/* stacks_place.h: which rank of which job the steps of a process belong to. Within src/sources/inferred; for the stack
 * thread, under its lock. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_PLACE_H
#define PMTOP_SOURCES_INFERRED_STACKS_PLACE_H

struct sampled;
struct stacks_state;

/* `sampled` has steps. */
void stacks_place_steps(struct stacks_state *stacks, const struct sampled *sampled);

#endif
