/* py_size.h: len() of an object of a running CPython. Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_CODE_PY_SIZE_H
#define PMTOP_SOURCES_PYTHON_CODE_PY_SIZE_H

#include "src/sources/python/py_walk.h"

/* Of lists, tuples, ranges, dicts, strings, NumPy's arrays, and of objects whose __len__ has one way through it:
 * attributes, properties like it, items, constants, arithmetic, len(), min(), max() and int(). Nothing is executed: its
 * instructions are read. False: unknown. */
bool py_size_of(const struct py_process *process, uint64_t object, uint64_t *out);

#endif
