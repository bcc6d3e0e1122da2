/* py_exits.h: comparisons that decide whether a loop goes on: "while step < max_steps", "if step >= cfg.max_steps:
 * break". Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_EXITS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_EXITS_H

#include "src/sources/python/loops/py_bytecode.h"
#include "src/sources/python/code/py_graph.h"

/* Fills the exits of the code, whose loops are known. */
void py_exits_find(struct py_graph *graph, struct py_bytecode *code);

#endif
