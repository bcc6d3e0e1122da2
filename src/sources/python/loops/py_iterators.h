/* py_iterators.h: how far an iterator of a running CPython is, and what must hold while that is read again. Private to
 * src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_ITERATORS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_ITERATORS_H

#include "src/sources/python/loops/py_attributes.h"
#include "src/sources/python/loops/py_stack_entries.h"

/* guards.form of an int: its address is in the word at guards.slot. */
enum { PY_FORM_INT = 64 };

struct py_iterators {
	const struct py_process *process;
	struct py_loop_codes *codes;
	struct py_classes classes;
	struct py_attributes attributes;
};

/* Reads the frame of a suspended generator, with the classes of what it holds. False: it has ended, or has no loops. */
bool py_iterator_generator(struct py_iterators *iterators, uint64_t generator, struct py_loop_frame *out);
/* Fills kind, object, position, length and guards from the iterator in this entry of the value stack. `loop`: the
 * `for` that iterates over it, for what its code tells of the first item. False: it is no iterator. */
bool py_iterator_measure(struct py_iterators *iterators, const struct py_loop_frame *frame, size_t entry,
	const struct py_code_loop *loop, struct py_loop *out);
/* Words of a source of this form, from its header on. */
size_t py_iterator_words(unsigned form);
/* The position in words of a source. False: they are not of such an object, or it is not the one of `guards`. */
bool py_iterator_decode(const struct py_iterators *iterators, const struct py_loop_guards *guards,
	const uint64_t value[PY_LOOP_VALUE_WORDS], uint64_t *position);
/* What follows from its position and length. */
void py_iterator_set_remaining(struct py_loop *loop);
/* As py_loop_range_item. */
bool py_iterator_range_item(const struct py_loop *loop, uint64_t *item, uint64_t *end);
/* The length of a list that has grown; 0 = unknown. */
uint64_t py_iterator_length(
	const struct py_iterators *iterators, const struct py_loop_guards *guards, uint64_t position);

#endif
