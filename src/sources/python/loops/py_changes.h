/* py_changes.h: counts a loop that nothing else counts by a variable that each iteration assigns: each time that it is
 * seen to hold another object is one iteration more. That is a lower bound: an object may be at the address of the one
 * before the one before, so two iterations between two polls may be missed. Private to src/sources/python/loops; the
 * callers of py_loops.h use py_loops_read_changes. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_CHANGES_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_CHANGES_H

#include "src/sources/python/loops/py_reading.h"

/* Emits the loop of the frame, which is at its current instruction in one of these loops, whose header has this line.
 * False: it is in none, or each iteration assigns none. */
bool py_changes_read(struct py_reading *reading, int line);

#endif
