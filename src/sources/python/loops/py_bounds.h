/* py_bounds.h: how far an int that a loop advances goes, by the comparison that ends the loop. Private to
 * src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_BOUNDS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_BOUNDS_H

#include "src/sources/python/loops/py_iterators.h"

/* As py_loop_bound (py_loops.h). */
bool py_bound_read(struct py_iterators *iterators, const struct py_loop *loop, uint64_t ip, struct py_loop_bound *out);
/* As py_loops_sums (py_loops.h). */
bool py_bound_sums(
	struct py_iterators *iterators, const struct py_loop *compared, uint64_t code, uint64_t ip, bool *is_before);
/* As py_loops_epochs (py_loops.h). */
uint64_t py_bound_epochs(struct py_iterators *iterators, uint64_t object);
/* What an operand is in this frame. False: no int, or unknown. */
bool py_bound_operand(
	struct py_iterators *iterators, const struct py_loop_frame *frame, const struct py_operand *operand, int64_t *out);

#endif
