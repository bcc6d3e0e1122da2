/* py_attributes.h: attributes of objects of a running CPython that are read again and again: where one is is found
 * once, and then checked with the same system call that reads it. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_ATTRIBUTES_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_ATTRIBUTES_H

#include "src/sources/python/py_objects.h"

enum { PY_ATTRIBUTES_RETAINED = 64, PY_ATTRIBUTE_NAME_SIZE = 48 };

/* Where a name is looked for: among the attributes of an instance, those of its class or of the class that it is
 * itself, or the items of a dict. */
enum py_attribute_kind { PY_OF_INSTANCE, PY_OF_CLASS, PY_OF_DICT };

/* Zeroed at first, but for `process`. */
struct py_attributes {
	const struct py_process *process;
	struct py_attribute_known {
		uint64_t object;
		char name[PY_ATTRIBUTE_NAME_SIZE];
		enum py_attribute_kind kind;
		bool is_missing;
		int64_t absent_until_ns; /* it is not looked for before */
		struct py_attribute found;
	} known[PY_ATTRIBUTES_RETAINED];
};

/* An attribute that is missing twice in a row is looked for again after half a second: once can be an object that was
 * just freed, whose address the next one of its class takes. */
bool py_attributes_find(struct py_attributes *attributes, uint64_t object, enum py_attribute_kind kind,
	const char *name, struct py_attribute *out, uint64_t *value);
/* Of an instance. */
bool py_attributes_get(
	struct py_attributes *attributes, uint64_t object, const char *name, struct py_attribute *out, uint64_t *value);
bool py_attributes_int(struct py_attributes *attributes, uint64_t object, const char *name, uint64_t *out);

#endif
