/* py_length.h: how many batches a pass of a DataLoader's iterator has. Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_LENGTH_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_LENGTH_H

#include "src/sources/python/py_walk.h"

/* What len() of its loader says, where that follows from ints, lists, tuples and ranges, or where torch's samplers keep
 * what the program's own __len__ said; nothing is guessed. 0 = not known (yet: the samplers begin with the first
 * batch). *batch_size 0: not known. */
uint64_t py_length_read(const struct py_process *process, uint64_t iterator, uint32_t *batch_size);

#endif
