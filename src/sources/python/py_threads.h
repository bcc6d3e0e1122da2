/* py_threads.h: which thread of the system a thread of Python is. */
#ifndef PMTOP_SOURCES_PYTHON_PY_THREADS_H
#define PMTOP_SOURCES_PYTHON_PY_THREADS_H

#include "src/sources/python/py_stack.h"

/* Fills tid, name and state of the thread at `address`, as far as they can be known. */
void py_thread_identify(
	pid_t pid, int process_fd, const struct py_layout *layout, uint64_t address, struct py_thread *out);
/* Where the main thread of the process is kept. False: it has none (it may be starting, or ending). */
bool py_find_main(const struct py_process *process, uint64_t *thread);

#endif
