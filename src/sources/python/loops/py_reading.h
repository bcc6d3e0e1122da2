/* py_reading.h: the loops of a frame while they are being found. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_READING_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_READING_H

#include "src/sources/python/loops/py_calls.h"
#include "src/sources/python/loops/py_iterators.h"
#include "src/sources/python/loops/py_states.h"
#include "src/sources/python/py_objects.h"

enum { PY_FRAMES_AT_ONCE = 16 };

struct py_loops {
	struct py_iterators iterators;
	struct py_states states;
	struct py_calls calls;
	struct py_entries globals; /* of the dict that was read last */
	bool has_globals;
	struct py_loop_frame frames[PY_FRAMES_AT_ONCE];
	size_t numbers[PY_FRAMES_AT_ONCE]; /* of the sampled frames */
};

/* The loops of one frame, as they are being found. */
struct py_reading {
	struct py_loops *loops;
	const struct py_loop_frame *frame;
	struct py_loop base; /* what all of them share */
	struct py_loop *out;
	size_t count, max;
};

/* Adds the loop to those that were found, if it can be read again. */
void py_reading_emit(struct py_reading *reading, struct py_loop *loop);

#endif
