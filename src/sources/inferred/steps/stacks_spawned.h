/* stacks_spawned.h: whether a process is a rank that a Python process has spawned, and which one, by its main thread's
 * stack. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_SPAWNED_H
#define PMTOP_SOURCES_INFERRED_STACKS_SPAWNED_H

#include "src/sources/python/py_sampler.h"

/* Zeroed at first. */
struct stacks_spawned {
	bool is_child, is_numbered; /* of multiprocessing; of torch.multiprocessing.spawn, which numbers its children */
	bool is_distributed;        /* it has called torch.distributed, or what uses it */
	bool has_number;
	long number; /* torch's, or the variable rank or local_rank of the function that was spawned */
};

/* No DataLoader worker: it has its parent's frames. */
void stacks_spawned_note(
	struct stacks_spawned *spawned, const struct py_process *process, const struct py_sample *sample);
/* A child without a number of its own is one only if it has called torch.distributed. */
bool stacks_spawned_is_rank(const struct stacks_spawned *spawned);

#endif
