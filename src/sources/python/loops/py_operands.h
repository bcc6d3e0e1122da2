/* py_operands.h: what an instruction of CPython gets from its code: a variable, attributes and items of it with
 * constant keys, or a constant. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_OPERANDS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_OPERANDS_H

#include "src/sources/python/loops/py_bytecode.h"
#include "src/sources/python/code/py_graph.h"

/* Where an operand ends: the instruction, and whether the second local of its two is taken already. */
struct py_cursor {
	int at;
	bool is_half;
};

/* Reads backward from the cursor, and leaves it before the operand. */
bool py_operand_read(const struct py_graph *graph, struct py_cursor *cursor, struct py_operand *out);
/* What is added by this sum, and the instruction before that: *before. False: something else, or a local that is loaded
 * together with the one before it; `out` has it then, too. */
bool py_operand_of_added(const struct py_graph *graph, int sum, struct py_operand *out, int *before);
/* Fills holder, index and added of `x.name += 1` and `x[key] += 1`, which the instruction ends. False: it is none of
 * these. */
bool py_operand_of_sum(const struct py_graph *graph, int store, struct py_store *out);
/* Where the sum of `x.name += …` and `x[key] += …` is, which this instruction ends. */
int py_operand_sum_of(const struct py_graph *graph, int store);
/* Fills holder and index of these; `read`: the instruction before what is added. */
bool py_operand_of_holder(const struct py_graph *graph, int store, int read, struct py_store *out);
/* Whether it is what the assignment assigns. */
bool py_operand_is_stored(const struct py_operand *operand, const struct py_store *store);
bool py_operand_is_same(const struct py_operand *a, const struct py_operand *b);

#endif
