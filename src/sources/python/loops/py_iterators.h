/* py_iterators.h: how far an iterator of a running CPython is, and what must hold while that is read again. Private to
 * src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_ITERATORS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_ITERATORS_H

#include "src/sources/python/loops/py_classes.h"
#include "src/sources/python/loops/py_loop_code.h"
#include "src/sources/python/loops/py_loops.h"

/* guards.form of an int: its address is in the word at guards.slot. */
enum { PY_FORM_INT = 64 };

struct py_iterators {
	const struct py_process *process;
	struct py_loop_codes *codes;
	struct py_classes classes;
};

/* The entry of a frame's value stack with the iterator of a `for` around its current instruction. False: not found. */
bool py_iterator_find(struct py_iterators *iterators, const struct py_loop_frame *frame, int loop, size_t *entry);
/* Fills kind, object, position, length and guards from an iterator. `frame` and `loop`: the `for` that iterates over
 * it, for what its code tells of the first item; NULL: unknown. False: it is no iterator. */
bool py_iterator_measure(struct py_iterators *iterators, uint64_t object, const struct py_loop_frame *frame,
	const struct py_code_loop *loop, struct py_loop *out);
/* Words of a source of this form, from its header on. */
size_t py_iterator_words(unsigned form);
/* The position in words of a source. False: they are not of such an object, or it is not the one of `guards`. */
bool py_iterator_decode(
	const struct py_loop_guards *guards, const uint64_t value[PY_LOOP_VALUE_WORDS], uint64_t *position);
/* What follows from its position and length. */
void py_iterator_set_remaining(struct py_loop *loop);
/* The length of a list that has grown; 0 = unknown. */
uint64_t py_iterator_length(
	const struct py_iterators *iterators, const struct py_loop_guards *guards, uint64_t position);
bool py_loop_guard_word(struct py_loop_guards *guards, uint64_t address, uint64_t word);
bool py_loop_guard_place(struct py_loop_guards *guards, const struct py_loop_frame *frame, int loop, bool is_generator);

#endif
