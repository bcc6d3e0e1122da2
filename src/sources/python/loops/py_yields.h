/* py_yields.h: what a loop of a generator yields, and which int counts that. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_YIELDS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_YIELDS_H

#include "src/sources/python/loops/py_bytecode.h"
#include "src/sources/python/code/py_graph.h"

/* Sets yields_once, is_first_delegation and advance of a loop, and marks what follows its yield. */
void py_yields_find(struct py_graph *graph, struct py_bytecode *code, int loop);

/* Whether it yields at all: it is a generator. */
bool py_yields_any(const struct py_graph *graph, const struct py_bytecode *code);

#endif
