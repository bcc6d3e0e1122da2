/* py_loop_view.h: reads one known loop again. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_LOOP_VIEW_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_LOOP_VIEW_H

#include "src/sources/python/loops/py_iterators.h"

enum py_loop_reading py_loop_view(struct py_iterators *iterators, struct py_loop *loop);

#endif
