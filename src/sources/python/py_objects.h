/* py_objects.h: objects of a running CPython (3.8 to 3.13, with its GIL), read from outside: of which type they are,
 * ints, sizes, and where an attribute of an instance is kept. Private to src/sources/python.
 *
 * Python goes on while it is read: what is told here was so at some moment; who goes on reading a place checks it again
 * (struct py_attribute). */
#ifndef PMTOP_SOURCES_PYTHON_PY_OBJECTS_H
#define PMTOP_SOURCES_PYTHON_PY_OBJECTS_H

#include "src/sources/python/py_walk.h"

/* Ints below 2^60: their type, how many digits, and two of these. Each of them has as many bytes. */
enum { PY_INT_SIZE = 32, PY_GUARDS_MAX = 6 };

/* A word that has to be what it was. */
struct py_guard {
	uint64_t address, word;
};

/* Where the address of an attribute's value is kept, as long as its guards hold. The first one is the type of the
 * object. */
struct py_attribute {
	uint64_t slot;
	size_t guard_count;
	struct py_guard guards[PY_GUARDS_MAX];
};

/* Whether objects of this CPython can be read. UNSUPPORTED says why not. */
enum status py_objects_known(const struct py_place *place, struct reason *why_not);
/* Any of these: false where it is not that, or not there any more. */
bool py_is(const struct py_process *process, uint64_t object, enum py_type type);
/* Whether its class is called so, of whichever module, or is derived from one that is. */
bool py_is_derived(const struct py_process *process, uint64_t object, const char *name);
/* Whether its class is this one of this module. */
bool py_is_exactly(const struct py_process *process, uint64_t object, const char *module, const char *name);
bool py_attribute_find(const struct py_process *process, uint64_t object, const char *name, struct py_attribute *out);
bool py_attribute_get(const struct py_process *process, uint64_t object, const char *name, uint64_t *value);
/* Whether it is a str, and exactly this one, in ASCII. */
bool py_is_text(const struct py_process *process, uint64_t object, const char *text);
/* Of an int, not of a bool, from 0 to 2^60 - 1. */
bool py_int_decode(const struct py_place *place, const unsigned char bytes[PY_INT_SIZE], uint64_t *out);
bool py_int_read(const struct py_process *process, uint64_t object, uint64_t *out);
bool py_bool_read(const struct py_process *process, uint64_t object, bool *out);
/* Of a tuple, as many as there are or fit. */
size_t py_items_read(const struct py_process *process, uint64_t tuple, uint64_t *out, size_t max);
/* Of a list, a tuple or a range. */
bool py_size_read(const struct py_process *process, uint64_t object, uint64_t *out);
/* What iter(range(size)) began with. */
bool py_range_read(const struct py_process *process, uint64_t range_iterator, uint64_t *size);

#endif
