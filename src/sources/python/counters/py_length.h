/* py_length.h: the number of batches in an epoch of a DataLoader's iterator. Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_LENGTH_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_LENGTH_H

#include "src/sources/python/py_walk.h"

/* The result of len(loader), if it follows from ints, lists, tuples and ranges, or if torch's samplers store the
 * result of the dataset's __len__; it is never guessed. 0 = unknown (yet: the samplers start with the first batch).
 * *batch_size 0: unknown. */
uint64_t py_length_read(const struct py_process *process, uint64_t iterator, uint32_t *batch_size);

#endif
