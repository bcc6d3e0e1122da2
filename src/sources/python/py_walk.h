/* py_walk.h: the frames of one thread of a running CPython, as they were at one moment. Private to
 * src/sources/python.
 *
 * Python keeps running while it is read. A stack is therefore read frame by frame, and then all its frames several
 * times in one call: what is equal in all copies existed at one moment. If they differ it is read again; of a stack
 * that keeps changing, the outer frames that the tries share are returned. */
#ifndef PMTOP_SOURCES_PYTHON_PY_WALK_H
#define PMTOP_SOURCES_PYTHON_PY_WALK_H

#include "src/sources/python/py_locate.h"
#include "src/sources/python/py_stack.h"

struct py_process {
	pid_t pid;
	int process_fd;
	struct py_location location;
};

/* A frame as read: the fields that must not change between reads. */
struct py_raw_frame {
	uint64_t address, previous, code, ip;
	bool is_of_c, is_of_generator;
};

struct py_walk {
	size_t count; /* the newest first */
	bool is_cut;  /* there were more: the outermost are missing */
	struct py_raw_frame frames[PY_FRAMES_MAX];
};

/* The effort. Careful: two tries in a row must agree (no mixed stack in thousands of samples of programs made to
 * provoke them). Quick, for repeated sampling: starts with the frames of earlier samples, mostly needs one system call,
 * and one consistent try is enough. */
enum py_care { PY_CAREFUL, PY_QUICK };

/* State of a few threads between samples. */
struct py_walker;
struct py_walker *py_walker_new(void);
void py_walker_free(struct py_walker *walker);

/* Returns true with the whole stack of the thread at `thread` if it was consistent; otherwise *best is the longest
 * part that two tries in a row agree on. */
bool py_walk(const struct py_process *process, uint64_t thread, enum py_care care, struct py_walker *walker,
	struct py_walk *best);

#endif
