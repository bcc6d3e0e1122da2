/* py_variables.h: the variables that the loops of a frame assign: locals, cells, globals, attributes and items. Private
 * to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_VARIABLES_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_VARIABLES_H

#include "src/sources/python/loops/py_reading.h"

/* Reads the globals of the frame, once for all frames with the same. False: they cannot be read. */
bool py_variables_globals(struct py_reading *reading);
/* Where the variable's value is, and what holds as long as it is there. */
bool py_variable_find(struct py_reading *reading, const struct py_loop_variable *variable, const struct py_store *store,
	struct py_loop *loop);
/* Emits the ints among them. */
void py_variables_read(struct py_reading *reading);
/* py_loop_poll of one whose object the loop replaces in each iteration (guards.rebound): it is found anew. */
enum py_loop_reading py_variable_poll_rebound(struct py_loops *loops, struct py_loop *loop);

#endif
