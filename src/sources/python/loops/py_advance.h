/* py_advance.h: how far a generator is whose `while` counts by an int of its own. Private to src/sources/python/loops.
 */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_ADVANCE_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_ADVANCE_H

#include "src/sources/python/loops/py_iterators.h"

/* Fills position and guards of a generator from the int that its loop advances, before the yield or behind it, in a
 * suspended frame. */
void py_advance_measure(
	struct py_iterators *iterators, const struct py_loop_frame *frame, int number, struct py_loop *out);

#endif
