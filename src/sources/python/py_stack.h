/* py_stack.h: reads the stacks of a running CPython (3.8 to 3.15) from outside: it neither stops nor writes to the
 * process.
 *
 * Python keeps running while it is read. A stack is therefore read frame by frame, and then all its frames several
 * times in one call: what is equal in all copies existed at one moment. If they differ it is read again; of a stack
 * that keeps changing, the outer frames that all tries share are returned (is_whole is false).
 *
 * All calls for one process come from one thread. */
#ifndef PMTOP_SOURCES_PYTHON_PY_STACK_H
#define PMTOP_SOURCES_PYTHON_PY_STACK_H

#include "src/sources/python/py_code.h"

enum { PY_FRAMES_MAX = 256, PY_THREADS_MAX = 512 };

struct py_frame {
	char function[PY_FUNCTION_SIZE];
	char file[PY_FILE_SIZE]; /* Python's name: mostly a whole path, or "<string>" */
	int line;                /* 0 = unknown */
};

struct py_thread {
	pid_t tid;     /* the number in pmtop's /proc; 0 = unknown */
	char name[64]; /* from /proc; cleaned */
	char state;    /* of /proc/PID/task/TID/stat; 0 = unknown */
	bool has_gil;
	bool is_whole;       /* false: its innermost frames changed while they were read */
	bool is_cut;         /* it has more than PY_FRAMES_MAX frames: the outermost are missing */
	size_t first, count; /* its frames, the newest first */
};

struct py_stacks {
	size_t thread_count, frame_count, thread_room, frame_room;
	struct py_thread *threads; /* in Python's order, mostly the newest first */
	struct py_frame *frames;
};

struct py_process;

/* NOT_FOUND: no CPython, or not started yet; DENIED; UNSUPPORTED: an unknown version. `process_fd` is /proc/PID and
 * remains the caller's. `relative`: a process of which this one may be a fork, so that its Python need not be searched
 * for; or NULL. */
enum status py_open(
	pid_t pid, int process_fd, const struct py_process *relative, struct py_process **out, struct reason *why_not);
void py_close(struct py_process *process);
const struct py_layout *py_version(const struct py_process *process);
/* Reads all threads. END: the process has ended or called exec; DAMAGED: its state is not consistent (it may be
 * starting or ending). */
enum status py_reading(struct py_process *process, struct py_stacks *out, struct reason *why_not);
void py_stacks_release(struct py_stacks *stacks);

#endif
