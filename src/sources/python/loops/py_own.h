/* py_own.h: iterators of a program's own classes, whose __next__ adds the same to an attribute for each item:
 * `self.index += 1`, `self.start += self.batch_size`. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_OWN_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_OWN_H

#include "src/sources/python/loops/py_iterators.h"

/* Fills position and guards, if __iter__ or __next__ sets the attribute to 0, or if a comparison with it ends the
 * iterator, which also gives the length. Not if one of these methods or __init__ sets it to another constant. */
void py_own_measure(const struct py_measuring *at, uint64_t object, struct py_loop *out);

#endif
