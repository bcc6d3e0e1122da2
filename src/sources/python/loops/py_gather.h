/* py_gather.h: generators that take several items of an iterator for each that they yield: a batch of samples, gathered
 * in a list until it is full, or as islice() takes them. Private to src/sources/python/loops.
 *
 * No object holds the number of samples in a batch. While such a generator waits at its only yield, the position of
 * what it takes from is a multiple of it, so the greatest common divisor of ten positions is that number. It remains
 * unknown if they have none: the generator leaves some samples out, or its batches differ. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_GATHER_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_GATHER_H

#include "src/sources/python/loops/py_iterators.h"

/* What a `while` may take from: the first local that is an iterator with a position. `held`: the local's slot.
 * False: there is none. */
bool py_gather_find(const struct py_measuring *at, const struct py_loop_frame *frame, struct py_loop *source,
	struct py_loop_word *held);
/* Fills position, length and guards of a generator in this loop of its frame, which takes from `source`, once it is
 * known how many items it takes. */
void py_gather_measure(struct py_iterators *iterators, const struct py_loop_frame *frame, int loop,
	const struct py_loop *source, const struct py_loop_word *held, struct py_loop *out);
/* Of zip(*[iterator] * n), and of zip_longest: `items` are the first of this tuple, whose address is at `slot`. False:
 * they are several iterators. */
bool py_gather_groups(const struct py_measuring *at, uint64_t slot, uint64_t tuple, const uint64_t *items, size_t count,
	struct py_loop *out);

#endif
