/* py_size.h: len() of an object of a running CPython, and the number that ends an iterator. Private to
 * src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_CODE_PY_SIZE_H
#define PMTOP_SOURCES_PYTHON_CODE_PY_SIZE_H

#include "src/sources/python/py_walk.h"

/* Of lists, tuples, ranges, dicts, strings, NumPy's arrays, and of objects whose __len__ has one way through it:
 * attributes, properties like it, items, constants, arithmetic, len(), min(), max() and int(). Nothing is executed: its
 * instructions are read. False: unknown. */
bool py_size_of(const struct py_process *process, uint64_t object, uint64_t *out);

/* offset: of the comparison, in bytes. */
struct py_limit {
	uint64_t limit;
	uint32_t offset;
};

/* The smallest int in self's attribute of this name with which a method raises: `if self.index >= len(self.items):
 * raise StopIteration`. Its only comparison must decide that, and the other side be as in py_size_of. False: unknown.
 */
bool py_size_limit(
	const struct py_process *process, uint64_t function, uint64_t self, const char *name, struct py_limit *out);

#endif
