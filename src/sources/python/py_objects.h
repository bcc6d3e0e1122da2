/* py_objects.h: reads objects of a running CPython (3.8 to 3.15, with its GIL): their types, ints, sizes, and the
 * addresses of attributes. Private to src/sources/python.
 *
 * Python keeps running meanwhile: every result was true at some moment. A caller that reads an address again checks
 * it again (struct py_attribute). */
#ifndef PMTOP_SOURCES_PYTHON_PY_OBJECTS_H
#define PMTOP_SOURCES_PYTHON_PY_OBJECTS_H

#include "src/sources/python/py_types.h"
#include "src/sources/python/py_walk.h"

/* The size of an int below 2^60: header, type, digit count, and two digits. */
enum { PY_INT_SIZE = 32, PY_GUARDS_MAX = 6, PY_ENTRIES_MAX = 1024 };
/* In a list: the address of its items (Include/cpython/listobject.h). */
enum { PY_LIST_ITEMS = 24 };

/* A word that must not change. */
struct py_guard {
	uint64_t address, word;
};

/* The slot that holds the address of an attribute's value, valid while its guards hold. The first guard is the type
 * of the object. */
struct py_attribute {
	uint64_t slot;
	size_t guard_count;
	struct py_guard guards[PY_GUARDS_MAX];
};

/* The entries of a dict at one moment: it must not have attributes' values apart from its keys. */
struct py_entries {
	uint64_t keys, values; /* of the dict: it has changed if these have */
	uint64_t dict, at;
	uint32_t entry_size;
	size_t count;
	unsigned char bytes[PY_ENTRIES_MAX * 24];
};

/* Whether pmtop can read objects of this CPython. UNSUPPORTED: the reason. */
enum status py_objects_known(const struct py_location *location, struct reason *why_not);
/* These calls return false if the object has another type, or is gone. */
bool py_is(const struct py_process *process, uint64_t object, enum py_type type);
bool py_attribute_find(const struct py_process *process, uint64_t object, const char *name, struct py_attribute *out);
bool py_attribute_get(const struct py_process *process, uint64_t object, const char *name, uint64_t *value);
/* The item of a dict whose key is this text. */
bool py_dict_find(const struct py_process *process, uint64_t dict, const char *name, struct py_attribute *out);
/* The value of that item of a dict that may be large: sys.modules. */
bool py_dict_search(const struct py_process *process, uint64_t dict, const char *name, uint64_t *value);
/* Reads the values of an instance's attributes, at most `max`, some 0: of classes of Python only. Returns how many. */
size_t py_attributes_read(const struct py_process *process, uint64_t object, uint64_t *out, size_t max);
bool py_entries_read(const struct py_process *process, uint64_t dict, struct py_entries *out);
/* One of its entries. False: it was deleted. */
bool py_entries_get(
	const struct py_entries *entries, size_t index, uint64_t *key, struct py_attribute *out, uint64_t *value);
/* Finds the entry with this very key object. */
bool py_entries_find(const struct py_entries *entries, uint64_t key, struct py_attribute *out, uint64_t *value);
/* Whether it is a str that equals this ASCII text. */
bool py_is_text(const struct py_process *process, uint64_t object, const char *text);
/* Reads a str of ASCII characters. False: it is none, or is too long. */
bool py_text_bytes(const struct py_process *process, uint64_t object, char *out, size_t size, size_t *length);
/* The same without control characters. */
bool py_text_read(const struct py_process *process, uint64_t object, char *out, size_t size);
/* Reads an int, not a bool, from 0 to 2^60 − 1. */
bool py_int_decode(const struct py_location *location, const unsigned char bytes[PY_INT_SIZE], uint64_t *out);
bool py_int_read(const struct py_process *process, uint64_t object, uint64_t *out);
bool py_bool_read(const struct py_process *process, uint64_t object, bool *out);
/* Reads the items of a tuple, at most `max`. */
size_t py_items_read(const struct py_process *process, uint64_t tuple, uint64_t *out, size_t max);
/* Where a list's items are, and how many: they may be moved. */
bool py_list_read(const struct py_process *process, uint64_t list, uint64_t *items, uint64_t *count);
/* The length of a list, a tuple or a range. */
bool py_size_read(const struct py_process *process, uint64_t object, uint64_t *out);

#endif
