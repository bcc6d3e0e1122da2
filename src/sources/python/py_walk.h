/* py_walk.h: the frames of one thread of a running CPython, as they were at one moment. Private to src/sources/python.
 *
 * Python goes on while it is read. So a stack is read frame by frame, and then all its frames several times by one
 * call: what is the same in all of them was there at one moment. Where they differ it is read again, and of what never
 * holds still the outer frames that tries have in common are kept. */
#ifndef PMTOP_SOURCES_PYTHON_PY_WALK_H
#define PMTOP_SOURCES_PYTHON_PY_WALK_H

#include "src/sources/python/py_locate.h"
#include "src/sources/python/py_stack.h"

struct py_process {
	pid_t pid;
	int process_fd;
	struct py_place place;
};

/* A frame as it was read: what must not have changed the second time. */
struct py_seen {
	uint64_t address, previous, code, ip;
	bool is_of_c;
};

struct py_walk {
	size_t count; /* the newest first */
	bool is_cut;  /* there were more: the outermost are missing */
	struct py_seen frames[PY_FRAMES_MAX];
};

/* How sure to be. Careful: two tries in a row must agree (no mixture in thousands of looks at programs made to provoke
 * them). Quick, for who looks again and again: begins where the last look ended, mostly one call into the kernel, and
 * one try that held still is enough. */
enum py_care { PY_CAREFUL, PY_QUICK };

/* What is kept from look to look, of one thread. */
struct py_walker;
struct py_walker *py_walker_new(void);
void py_walker_free(struct py_walker *walker);

/* The whole stack of the thread at `thread` where it held still (returned); else the most that two tries in a row agree
 * about. */
bool py_walk(const struct py_process *process, uint64_t thread, enum py_care care, struct py_walker *walker,
	struct py_walk *best);

#endif
