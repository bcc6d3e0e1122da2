/* py_locate.h: finds CPython in a running process, from its memory alone: so it may be static or libpython, stripped, in another root or
 * mount namespace, replaced on disk or deleted since. What is looked up are dynamic symbols (DT_GNU_HASH; gABI and glibc's dl-lookup). */
#ifndef PMTOP_SOURCES_PYTHON_PY_LOCATE_H
#define PMTOP_SOURCES_PYTHON_PY_LOCATE_H

#include <sys/types.h>

#include "src/sources/python/py_layout.h"

struct py_place {
	uint64_t runtime;            /* &_PyRuntime */
	uint64_t code_type;          /* &PyCode_Type: what a code object's type has to be */
	struct py_layout layout;
};

/* NOT_FOUND: no CPython of 3.8 or newer, or none that has begun yet. DENIED: errno of the first reading was EPERM. UNSUPPORTED: see py_layout.h.
 * `process_fd`: /proc/PID. */
enum status py_locate(pid_t pid, int process_fd, struct py_place *out, struct reason *why_not);

#endif
