/* stacks_loops_loss.h: the loss, where the program has it as a number. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_LOSS_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_LOSS_H

#include "src/sources/inferred/steps/stacks_loops.h"

/* The newest loss that is a number: of the function with the step loop, or else of one of these functions (whose loop
 * over a DataLoader trains), or what a trainer logged, or a tqdm bar shows. `pass`: of a DataLoader that trains; or if
 * that is not known, whose batches are taken for steps: then its function must call backward. NULL = none. Of a sum of
 * losses it is the mean of what was added since the call before. Call right after a sample. */
bool stacks_loops_loss(struct stacks_loops *loops, const struct py_process *process, const struct py_sample *sample,
	const struct py_counted *pass, const char (*functions)[PY_FUNCTION_SIZE], size_t function_count, double *out);

#endif
