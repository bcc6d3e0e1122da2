/* py_thread_name.h: the name that a program gave a thread: threading.Thread(name="worker-1"). */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_THREAD_NAME_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_THREAD_NAME_H

#include "src/sources/python/py_sampler.h"

enum { PY_THREAD_NAME_SIZE = 64 };

/* Of a thread of threading.py, from a whole sample of its stack. False: it is another thread, or its name is not
 * ASCII, or too long. */
bool py_thread_name(const struct py_process *process, const struct py_sample *sample, char out[PY_THREAD_NAME_SIZE]);

#endif
