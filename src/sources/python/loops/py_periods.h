/* py_periods.h: the condition under which a loop does something each so many iterations: `if i % 2000 == 1999`. Private
 * to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_PERIODS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_PERIODS_H

#include "src/sources/python/code/py_graph.h"
#include "src/sources/python/loops/py_bytecode.h"

/* Of the instruction. False: it is under no such condition, or under one that is not understood. */
bool py_period_find(const struct py_graph *graph, int at, struct py_period *out);

#endif
