/* py_threads.h: maps a thread of Python to a thread of the system. */
#ifndef PMTOP_SOURCES_PYTHON_PY_THREADS_H
#define PMTOP_SOURCES_PYTHON_PY_THREADS_H

#include "src/sources/python/py_stack.h"

/* Fills in tid, name and state of the thread at `address`, if they are known. */
void py_thread_identify(
	pid_t pid, int process_fd, const struct py_layout *layout, uint64_t address, struct py_thread *out);
/* Finds the address of the process's main thread. False: it has none (it may be starting or ending). */
bool py_find_main(const struct py_process *process, uint64_t *thread);

#endif
