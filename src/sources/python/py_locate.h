/* py_locate.h: finds CPython in a running process from its memory alone, so it may be static or libpython, stripped,
 * in another root or mount namespace, or replaced or deleted on disk. It reads dynamic symbols (DT_GNU_HASH; gABI
 * and glibc's dl-lookup). */
#ifndef PMTOP_SOURCES_PYTHON_PY_LOCATE_H
#define PMTOP_SOURCES_PYTHON_PY_LOCATE_H

#include <sys/types.h>

#include "src/sources/python/py_layout.h"

/* Types of objects that pmtop reads besides stacks. */
enum py_type {
	PY_INT,
	PY_BOOL,
	PY_STR,
	PY_DICT,
	PY_LIST,
	PY_TUPLE,
	PY_RANGE,
	PY_RANGE_ITERATOR,
	PY_ENUMERATE,
	PY_ZIP,
	PY_GENERATOR,
	PY_TYPES_NEEDED,
	/* Of these, a missing one is only not recognized. */
	PY_LIST_ITERATOR = PY_TYPES_NEEDED,
	PY_TUPLE_ITERATOR,
	PY_SEQUENCE_ITERATOR, /* of an object with __getitem__ and no __iter__ */
	PY_LIST_REVERSED,
	PY_REVERSED,
	PY_MAP,
	PY_FLOAT,
	PY_TYPES
};

struct py_location {
	uint64_t runtime;         /* &_PyRuntime */
	uint64_t types[PY_TYPES]; /* &PyLong_Type and so on; 0 = not found */
	uint64_t code_type;       /* &PyCode_Type: the type of every code object */
	struct py_layout layout;
};

/* NOT_FOUND: no CPython 3.8 or newer, or it has not started yet. DENIED: the first read was refused. UNSUPPORTED:
 * see py_layout.h. DAMAGED: see there, or the search exceeded its budget, which limits its cost for a process with
 * many images or endless symbol tables. `process_fd`: /proc/PID. */
enum status py_locate(pid_t pid, int process_fd, struct py_location *out, struct reason *why_not);
/* Whether this location, of another process, is this one's too, as after a fork. */
bool py_locate_is_same(pid_t pid, const struct py_location *location);

#endif
