/* stacks_loops_fetch.h: how a program fetches the batches of a DataLoader: by a loop over it, or by next(). */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_FETCH_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_FETCH_H

#include "src/sources/inferred/steps/stacks_loops.h"

/* Whether a library's generator cuts epochs out of a loader that never ends (ultralytics): the loops over that
 * generator have the steps. */
bool stacks_loops_is_recut(struct stacks_loops *loops, const struct py_counted *counted);
/* Whether the program itself, in no loop over the loader, fetches its batches by next(), or may do so: that is not
 * known before a sample has found where they are fetched. */
bool stacks_loops_calls_next(struct stacks_loops *loops, const struct py_counted *counted);
/* Whether the function that does so has the loop that counts the steps, which runs. */
bool stacks_loops_fetches(const struct stacks_loops *loops, const struct py_counted *counted);
/* Whether this pass, which is over, has had all its batches: no loop of its function has a `break`, and another one of
 * these passes has begun since, so that no exception has ended the program. */
bool stacks_loops_is_exhausted(
	struct stacks_loops *loops, const struct py_counted *over, const struct py_counted *all, size_t count);
/* How the loop over these batches ends, if that is known: STACKS_ENDS_EARLY: *length is its own, 0 = unknown. */
enum stacks_ending { STACKS_ENDS_WITH_LOADER, STACKS_ENDS_WITH_FIRST, STACKS_ENDS_EARLY };
enum stacks_ending stacks_loops_ending(
	const struct stacks_loops *loops, const struct py_counted *counted, uint64_t *length);
/* The batches of this pass train, and the sample was taken during it: the loops around the current instructions of its
 * function and of the functions that called that one have no steps of their own. */
void stacks_loops_note_loader(
	struct stacks_loops *loops, const struct py_counted *counted, const struct py_sample *sample);
/* Whether the enumerate() around the loader has counted far fewer batches than this pass: it has begun after it. */
bool stacks_loops_is_behind(struct stacks_loops *loops, const struct py_counted *counted);
/* The steps are not in the loops over loaders that were noted so far, but around them. */
void stacks_loops_forget_loader(struct stacks_loops *loops);

#endif
