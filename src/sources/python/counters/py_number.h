/* py_number.h: the number of batches that an iterator of torch's DataLoader keeps (_num_yielded), read again and again.
 * Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_NUMBER_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_NUMBER_H

#include "src/sources/python/py_objects.h"

/* What tells a pass from others of its place: _base_seed, drawn at random for each iterator, and _sampler_iter, made
 * for each pass while that of the last one still is there. */
enum { PY_MARK_SEED, PY_MARK_ORDER, PY_MARKS };
struct py_mark {
	uint64_t slot, object; /* slot 0 = it has none */
	/* of an int: all but how often it is referred to; of a long one the lower digits */
	unsigned char content[PY_INT_SIZE - 8];
};

struct py_number {
	uint64_t iterator; /* set by who asks */
	struct py_attribute yielded;
	uint64_t value; /* the int that was there last */
	struct py_mark marks[PY_MARKS];
};

/* What a look found. */
enum py_reading {
	PY_READ_GOOD,
	PY_READ_UNSURE, /* it did not hold still */
	PY_READ_MOVED,  /* its attributes are kept elsewhere now */
	PY_READ_OTHER,  /* there is another such iterator, or this one begins anew */
	PY_READ_DEAD,   /* there is no such object any more */
	PY_READ_ENDED,  /* nor a process */
};

/* Where the iterator's number is. False: it is no such iterator, or makes no sense now. */
bool py_number_find(const struct py_process *process, struct py_number *number);
/* What it is, mostly by one call into the kernel; never PY_READ_MOVED, for an iterator that keeps its attributes
 * elsewhere is followed. */
enum py_reading py_number_read(const struct py_process *process, struct py_number *number, uint64_t *value);

#endif
