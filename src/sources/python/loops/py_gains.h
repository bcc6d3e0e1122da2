/* py_gains.h: where the loops of a code object gather numbers, as programs do with their losses: lists that they append
 * to, and sums. Nothing is calculated with the number before: `running_loss += loss.item() * n` is none. Private to
 * src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_GAINS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_GAINS_H

#include "src/sources/python/code/py_graph.h"
#include "src/sources/python/loops/py_bytecode.h"

/* After all assignments of the code's loops were found. */
void py_gains_find(struct py_graph *graph, struct py_bytecode *code);

#endif
