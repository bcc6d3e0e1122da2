/* py_gil.h: which thread of a running CPython holds the GIL, and which ones wait for it. A free-threaded build has
 * none. Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_PY_GIL_H
#define PMTOP_SOURCES_PYTHON_PY_GIL_H

#include "src/sources/python/py_walk.h"

/* The address of an interpreter's GIL: its last holder, and then whether it is held. 0: it has none, or it was not
 * found. */
uint64_t py_gil_find(const struct py_process *process, uint64_t interpreter);
/* The address of the thread that holds it. 0: none does, or it could not be read. */
uint64_t py_gil_holder(const struct py_process *process, uint64_t gil);
/* Whether a thread of the system sleeps until it gets the GIL: its system call waits on a futex inside the GIL
 * (Python/ceval_gil.c, take_gil). False also if the kernel does not show system calls. */
bool py_gil_is_awaited(int process_fd, pid_t tid, uint64_t gil);

#endif
