/* py_sums.h: attributes that code adds to, or sets to a constant, outside of its loops. Private to
 * src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_SUMS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_SUMS_H

#include "src/sources/python/loops/py_bytecode.h"
#include "src/sources/python/code/py_graph.h"

/* `code`: its loops are known. `out`: empty. */
void py_sums_find(struct py_graph *graph, const struct py_bytecode *code, struct py_sums *out);

#endif
