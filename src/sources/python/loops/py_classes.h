/* py_classes.h: what kind of object an address is, for those that count something. Private to src/sources/python/loops.
 */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_CLASSES_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_CLASSES_H

#include "src/sources/python/py_walk.h"

enum { PY_CLASSES_RETAINED = 256 };

enum py_class {
	PY_CLASS_NONE, /* nothing of interest */
	PY_CLASS_INT,  /* no iterator */
	/* No iterators. Since 3.15 a loop over one has it on the value stack, and then an index (virtual iterators). */
	PY_CLASS_LIST_ITSELF,
	PY_CLASS_TUPLE_ITSELF,
	PY_CLASS_TEXT,
	PY_CLASS_FLOAT64, /* NumPy's: laid out as a float is, and as one of 4 bytes */
	PY_CLASS_FLOAT32,
	PY_CLASS_TENSOR,   /* torch.Tensor itself */
	PY_CLASS_ITERATOR, /* of a type without a known position */
	PY_CLASS_LOADER,
	PY_CLASS_RANGE,
	PY_CLASS_ENUMERATE,
	PY_CLASS_LIST,
	PY_CLASS_TUPLE,
	PY_CLASS_SEQUENCE,
	PY_CLASS_LIST_REVERSED,
	PY_CLASS_REVERSED,
	PY_CLASS_ZIP,
	PY_CLASS_MAP,
	PY_CLASS_GENERATOR,
	PY_CLASS_COUNT,
	PY_CLASS_ISLICE,
	PY_CLASS_CHAIN,
	PY_CLASS_CYCLE,
	PY_CLASS_REPEAT,
	PY_CLASS_TAKEWHILE,
	PY_CLASS_STARMAP,
	PY_CLASS_PASSES_ON, /* dropwhile, accumulate: an item for each of an iterator, but not from its first on */
	PY_CLASS_ZIP_LONGEST,
	PY_CLASS_BATCHED,
	PY_CLASS_PAIRWISE,
	PY_CLASS_TEE,
	PY_CLASS_ITERTOOLS,
	PY_CLASS_OF_KERAS, /* passes on what a generator yields */
	PY_CLASS_BAR,      /* no iterator: tqdm */
	PY_CLASS_HOLDER,   /* no iterator: an object of a trainer that counts, or has one that does (py_states.h) */
};

/* The classes of types that were met. Zeroed at first, but for `process`. */
struct py_classes {
	const struct py_process *process;
	size_t count;
	struct {
		uint64_t type;
		enum py_class class;
	} known[PY_CLASSES_RETAINED];
};

/* The address may hold anything. */
enum py_class py_class_of(struct py_classes *classes, uint64_t object);
/* Of an object of this type. */
enum py_class py_class_of_type(struct py_classes *classes, uint64_t object, uint64_t type);
/* The same of many, mostly with one system call. */
void py_classes_of(struct py_classes *classes, const uint64_t *objects, size_t count, enum py_class *out);
bool py_class_is_iterator(enum py_class class);

#endif
