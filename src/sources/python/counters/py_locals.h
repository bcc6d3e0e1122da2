/* py_locals.h: local variables of frames of a running CPython (3.8 to 3.13, with its GIL), and frames of generators
 * that are not on any stack. Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_LOCALS_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_LOCALS_H

#include "src/sources/python/py_walk.h"

enum { PY_LOCALS_MAX = 128 };

/* A frame, and the code object that it is to run: where it does not, nothing is read. */
struct py_activation {
	uint64_t frame, code;
};

/* Local variables, and what else the frame works with (iterators of its loops): addresses of objects, some 0, some of
 * what is gone. How many. */
size_t py_locals_read(const struct py_process *process, const struct py_activation *at, uint64_t out[PY_LOCALS_MAX]);
/* The first one: `self`, of a method. */
bool py_local_first(const struct py_process *process, const struct py_activation *at, uint64_t *value);
bool py_local_get(const struct py_process *process, const struct py_activation *at, const char *name, uint64_t *value);
/* False: it is no generator, or has ended. */
bool py_generator_frame(const struct py_process *process, uint64_t generator, struct py_activation *out);

#endif
