/* py_locals.h: local variables of frames of a running CPython (3.8 to 3.15, with its GIL), and frames of suspended
 * generators. Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_LOCALS_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_LOCALS_H

#include "src/sources/python/py_walk.h"

enum { PY_LOCALS_MAX = 128 };

/* A frame and the code object that it must run: otherwise nothing is read. */
struct py_activation {
	uint64_t frame, code;
};

/* Reads local variables and the frame's value stack (with the iterators of its loops): addresses of objects, some 0,
 * some stale. Returns how many. */
size_t py_locals_read(const struct py_process *process, const struct py_activation *at, uint64_t out[PY_LOCALS_MAX]);
/* How many of these are variables (to 3.10 without those of closures): the others are the value stack's. */
size_t py_locals_count(const struct py_process *process, const struct py_activation *at);
/* Reads the entries of its value stack that `with` and `try` statements around the instruction `ip` keep, from the
 * bottom: what lies above them may be stale. Returns how many, at most `max`; 0 also if there are more. */
size_t py_blocks_read(
	const struct py_process *process, const struct py_activation *at, uint64_t ip, uint64_t *out, size_t max);
/* The dict of its global variables, which may be anything: check it. */
bool py_frame_globals(const struct py_process *process, const struct py_activation *at, uint64_t *dict);
/* Reads the first local: `self` in a method. */
bool py_local_first(const struct py_process *process, const struct py_activation *at, uint64_t *value);
bool py_local_get(const struct py_process *process, const struct py_activation *at, const char *name, uint64_t *value);
/* False: it is not a generator, or has ended. */
bool py_generator_frame(const struct py_process *process, uint64_t generator, struct py_activation *out);

#endif
