/* py_calls.h: how often a loop has called a tf.function: TensorFlow counts the calls of each, to warn of those that it
 * traces too often. Private to src/sources/python/loops.
 *
 * Seen: TensorFlow 2.21, tensorflow/python/eager/polymorphic_function/polymorphic_function.py. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_CALLS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_CALLS_H

#include "src/sources/python/py_sampler.h"

enum { PY_CALLS_RETAINED = 8 };

/* Zeroed at first. */
struct py_calls {
	size_t next; /* a new one replaces this one, modulo PY_CALLS_RETAINED */
	struct py_called {
		uint64_t counter;    /* the object that counts */
		uint64_t last, past; /* its newest count, and what it has forgotten */
	} known[PY_CALLS_RETAINED];
};

struct py_attributes;
struct py_reading;
struct py_loop;

/* The outermost sampled frame that calls a tf.function; sample->count: there is none. */
size_t py_calls_site(const struct py_sample *sample);
/* Adds the count of the calls of that function to what was found of the frame, in whose innermost loop it is called. */
void py_calls_read(struct py_reading *reading, const struct py_site *site);
/* Adds what the count has forgotten to a position that was just read. */
void py_calls_adjust(struct py_calls *calls, struct py_attributes *attributes, struct py_loop *loop);

#endif
