/* py_assigned.h: a variable that each iteration of a loop assigns exactly once. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_ASSIGNED_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_ASSIGNED_H

#include "src/sources/python/code/py_graph.h"
#include "src/sources/python/loops/py_bytecode.h"

/* Of all loops: the first such assignment, as index of a store; PY_STORES_MAX: there is none. */
void py_assigned_find(struct py_graph *graph, struct py_bytecode *code);

/* Whether no way through an iteration of this loop leaves the assignment out. */
bool py_assigned_is_in_each(struct py_graph *graph, const struct py_code_loop *loop, const struct py_store *store);

#endif
