/* py_request.h: asks a running CPython 3.14 or newer to run a script in its main thread (PEP 768, sys.remote_exec;
 * Include/internal/pycore_debug_offsets.h and Python/remote_debugging.c of CPython).
 *
 * Only this code writes into another process, and only `pmtop instrument` uses it. It writes, at addresses which the
 * interpreter publishes for it: the script's path, the request, and one bit that makes the thread look. */
#ifndef PMTOP_SOURCES_PYTHON_PY_REQUEST_H
#define PMTOP_SOURCES_PYTHON_PY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/sources/python/py_layout.h"
#include "src/sources/python/py_locate.h"

enum { PY_MINOR_REQUESTS = 14 };

struct py_request {
	pid_t pid;
	uint64_t interpreter, thread;    /* the main interpreter, and the state of its main thread */
	uint64_t pending, path, breaker; /* addresses in `thread` */
	size_t path_size;
	uint32_t thread_interpreter;
};

enum py_answer { PY_ANSWER_WAITING, PY_ANSWER_TAKEN, PY_ANSWER_ENDED };

/* Finds out where to write; writes nothing. UNSUPPORTED: an older Python, a pre-release, switched off, or a request of
 * another program waits; DAMAGED: what it publishes is invalid; IO: memory cannot be read. */
enum status py_request_open(
	pid_t pid, const struct py_location *location, struct py_request *out, struct reason *why_not);
/* Writes the path and the request. The thread looks at the request whenever it handles another event, such as a switch
 * between threads or a garbage collection. DENIED; IO. */
enum status py_request_send(const struct py_request *request, const char *path, struct reason *why_not);
/* Makes the thread look at its next bytecode that jumps back, or at its next call. An event of the thread that becomes
 * pending between the read and the write of this byte may be delayed. DENIED; IO. */
enum status py_request_hurry(const struct py_request *request, struct reason *why_not);
enum py_answer py_request_answer(const struct py_request *request);
/* Removes a request that was not taken. Returns false if the thread has taken it or the process has ended. */
bool py_request_withdraw(const struct py_request *request);

#endif
