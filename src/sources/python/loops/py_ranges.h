/* py_ranges.h: iterators over ranges. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_RANGES_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_RANGES_H

#include "src/sources/python/loops/py_iterators.h"

/* An iterator over a range, with ints of a machine word. */
void py_measure_range(const struct py_measuring *at, uint64_t object, struct py_loop *out);
/* As py_loop_range_item. */
bool py_range_item(const struct py_loop *loop, uint64_t *item, uint64_t *end);
/* Of the words of one that keeps what remains: the item after the last one, the same whatever has been delivered. */
uint64_t py_range_end(const uint64_t *value);

#endif
