/* py_stack.h: the stacks of a running CPython (3.8 to 3.15), seen from outside: nothing stops it, nothing is written to
 * it.
 *
 * Python goes on while it is read. So a stack is read frame by frame, and then all its frames several times by one
 * call: what is the same in all of them was there at one moment. Where they differ it is read again, and of what never
 * holds still the outer frames that all tries have in common are kept (is_whole is false).
 *
 * All calls for one process come from one thread. */
#ifndef PMTOP_SOURCES_PYTHON_PY_STACK_H
#define PMTOP_SOURCES_PYTHON_PY_STACK_H

#include "src/sources/python/py_code.h"

enum { PY_FRAMES_MAX = 256, PY_THREADS_MAX = 512 };

struct py_frame {
	char function[PY_FUNCTION_SIZE];
	char file[PY_FILE_SIZE]; /* as Python has it: mostly a whole path, or "<string>" */
	int line;                /* 0 = it has none */
};

struct py_thread {
	pid_t tid;     /* as /proc numbers it here; 0 = not known */
	char name[64]; /* as /proc has it; clean */
	char state;    /* of /proc/PID/task/TID/stat; 0 = not known */
	bool has_gil;
	bool is_whole;       /* else: its innermost frames changed while they were read */
	bool is_cut;         /* it has more than PY_FRAMES_MAX: the outermost are missing */
	size_t first, count; /* its frames, the newest first */
};

struct py_stacks {
	size_t thread_count, frame_count, thread_room, frame_room;
	struct py_thread *threads; /* as Python lists them, mostly the newest first */
	struct py_frame *frames;
};

struct py_process;

/* NOT_FOUND: no CPython, or not begun; DENIED; UNSUPPORTED: a version that is not known. `process_fd` is /proc/PID, and
 * remains the caller's. */
enum status py_open(pid_t pid, int process_fd, struct py_process **out, struct reason *why_not);
void py_close(struct py_process *process);
const struct py_layout *py_version(const struct py_process *process);
/* All threads anew. END: it has ended or replaced itself; DAMAGED: what is there makes no sense (it may be starting, or
 * ending). */
enum status py_reading(struct py_process *process, struct py_stacks *out, struct reason *why_not);
void py_stacks_release(struct py_stacks *stacks);

#endif
