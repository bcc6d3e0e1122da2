/* py_threads.h: maps a thread of Python to a thread of the system. */
#ifndef PMTOP_SOURCES_PYTHON_PY_THREADS_H
#define PMTOP_SOURCES_PYTHON_PY_THREADS_H

#include "src/sources/python/py_stack.h"

/* Fills in tid, name and state of the thread at `address`, if they are known. */
void py_thread_identify(
	pid_t pid, int process_fd, const struct py_layout *layout, uint64_t address, struct py_thread *out);
/* Reads its state and name again; its tid is known. */
void py_thread_refresh(int process_fd, struct py_thread *thread);
/* The CPU time of a thread of the system. False: unknown. */
bool py_thread_run_ns(int process_fd, pid_t tid, uint64_t *run_ns);
/* Finds the addresses of the process's main interpreter and its main thread. False: it has none (it may be starting or
 * ending). */
bool py_find_main(const struct py_process *process, uint64_t *interpreter, uint64_t *thread);

/* number: as Python stores it: that in the process's own pid namespace; 0 = unknown */
struct py_thread_at {
	uint64_t address;
	pid_t number;
};

/* Lists the threads of an interpreter, the newest first, at most `max`. A list that leads back to one of its threads
 * ends there. */
size_t py_threads_list(const struct py_process *process, uint64_t interpreter, struct py_thread_at *out, size_t max);

#endif
