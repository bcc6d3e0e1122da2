/* py_bounds.h: how far an int that a loop advances goes, by the comparison that ends the loop. Private to
 * src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_BOUNDS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_BOUNDS_H

#include "src/sources/python/loops/py_iterators.h"

/* As py_loop_bound (py_loops.h). */
bool py_bound_read(struct py_iterators *iterators, const struct py_loop *loop, uint64_t ip, struct py_loop_bound *out);
/* What an operand is in this frame. False: no int, or unknown. */
bool py_bound_operand(
	struct py_iterators *iterators, const struct py_loop_frame *frame, const struct py_operand *operand, int64_t *out);

#endif
