/* stacks_loops_fetch.h: how a program fetches the batches of a DataLoader: by a loop over it, or by next(). */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_FETCH_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_FETCH_H

#include "src/sources/inferred/steps/stacks_loops.h"

/* Whether the program itself, in no loop over the loader, fetches its batches by next(), or may do so: that is not
 * known before a sample has found where they are fetched. */
bool stacks_loops_calls_next(struct stacks_loops *loops, const struct py_counted *counted);
/* The batches of this pass train: the loops around it, and around the call of its function, have no steps of their own.
 */
void stacks_loops_note_loader(struct stacks_loops *loops, const struct py_counted *counted);

#endif
