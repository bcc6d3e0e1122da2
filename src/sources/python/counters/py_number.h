/* py_number.h: repeatedly reads the batch count of a torch DataLoader's iterator (_num_yielded). Private to
 * src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_NUMBER_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_NUMBER_H

#include "src/sources/python/py_objects.h"

/* Attributes that distinguish epochs at one address: _base_seed, drawn at random for each iterator, and
 * _sampler_iter, created for each epoch while the last one's still exists. */
enum { PY_MARK_SEED, PY_MARK_ORDER, PY_MARKS };
struct py_mark {
	uint64_t slot, object; /* slot 0 = missing */
	/* of an int: all but its reference count; of a long int the lower digits */
	unsigned char content[PY_INT_SIZE - 8];
};

struct py_number {
	uint64_t iterator; /* set by the caller */
	struct py_attribute yielded;
	uint64_t value; /* address of the last int */
	struct py_mark marks[PY_MARKS];
};

/* The result of a read. */
enum py_reading {
	PY_READ_GOOD,
	PY_READ_UNSURE, /* it changed during the read */
	PY_READ_MOVED,  /* its attributes have moved */
	PY_READ_OTHER,  /* another iterator is there, or this one starts again */
	PY_READ_DEAD,   /* the object is gone */
	PY_READ_ENDED,  /* the process has ended */
};

/* Finds the slot of the count. False: it is not such an iterator, or is inconsistent now. */
bool py_number_find(const struct py_process *process, struct py_number *number);
/* Whether it is the same iterator, in the same pass. False: it is not, or they have no marks. */
bool py_number_is_same(const struct py_number *a, const struct py_number *b);
/* Reads the count, mostly with one system call. Never returns PY_READ_MOVED, because it follows an iterator whose
 * attributes move. */
enum py_reading py_number_read(const struct py_process *process, struct py_number *number, uint64_t *value);

#endif
