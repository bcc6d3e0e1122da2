/* py_itertools.h: how far an iterator of Python's module itertools is: those that count by themselves, and those that
 * pass on each item of another iterator, which is measured. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_ITERTOOLS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_ITERTOOLS_H

#include "src/sources/python/loops/py_iterators.h"

void py_itertools_measure(const struct py_measuring *at, uint64_t object, struct py_loop *out);

#endif
