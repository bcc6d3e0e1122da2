/* py_types.h: classes of a running CPython (3.8 to 3.15, with its GIL), and those that they are derived from. Private
 * to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_PY_TYPES_H
#define PMTOP_SOURCES_PYTHON_PY_TYPES_H

#include "src/sources/python/py_walk.h"

enum { PY_BASES_MAX = 16 };

struct py_attribute;

/* These calls return false if the object is gone, or its class is none of Python's. */
/* Whether its class has this name, in any module, or is derived from such a class. */
bool py_is_derived(const struct py_process *process, uint64_t object, const char *name);
/* The classes that a class is derived from, and itself. */
size_t py_bases_read(const struct py_process *process, uint64_t type, uint64_t out[PY_BASES_MAX]);
bool py_has_base(const struct py_process *process, const uint64_t *bases, size_t count, const char *name);
/* Whether instances of this class have __next__: a class without may have tp_iternext, which then refuses. */
bool py_is_iterator_class(const struct py_process *process, uint64_t type);
/* Whether its class is this class of this module. */
bool py_is_exactly(const struct py_process *process, uint64_t object, const char *module, const char *name);
/* Of the class itself, not of those that it is derived from; of classes of Python only. */
bool py_class_attribute_find(
	const struct py_process *process, uint64_t type, const char *name, struct py_attribute *out);
/* The code object of a function. */
bool py_function_code(const struct py_process *process, uint64_t function, uint64_t *code);
/* The address of the word with an attribute of `__slots__`, in an object of this class. */
bool py_slot_find(
	const struct py_process *process, uint64_t object, uint64_t type, const char *name, uint64_t *address);

#endif
