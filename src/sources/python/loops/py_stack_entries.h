/* py_stack_entries.h: which entries of a frame's value stack its loops iterate over, and the words and frames that must
 * not change meanwhile. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_STACK_ENTRIES_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_STACK_ENTRIES_H

#include "src/sources/python/loops/py_loop_code.h"
#include "src/sources/python/py_objects.h"

/* The entry of a frame's value stack with the iterator of a `for` around its current instruction, and that iterator.
 * False: not found. */
bool py_stack_entry_find(const struct py_loop_frame *frame, int loop, size_t *entry, uint64_t *object);
/* Guards the entries below that are no iterators, and their types: if one was an iterator when the stack was read, and
 * its memory another object's when the types were, its loop would get the iterator of the next. False: one of them is
 * an iterator, or there is no room. */
bool py_stack_entry_guard_below(
	struct py_classes *classes, const struct py_loop_frame *frame, size_t entry, struct py_loop_guards *guards);
/* Since 3.15: an object that is no iterator, and above it the index of its next item. */
bool py_stack_entry_is_virtual(const struct py_loop_frame *frame, size_t entry);
bool py_loop_guard_word(struct py_loop_guards *guards, uint64_t address, uint64_t word);
/* All that must hold for an attribute to be where it was found. */
bool py_loop_guard_attribute(struct py_loop_guards *guards, const struct py_attribute *attribute);
bool py_loop_guard_place(struct py_loop_guards *guards, const struct py_loop_frame *frame, int loop, bool is_generator);

#endif
