/* py_place.h: where a program fetches the batches of a pass over a DataLoader. Another pass of that loader is mostly
 * fetched there too. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_PLACE_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/sources/python/counters/py_counter.h"
#include "src/sources/python/counters/py_search.h"

enum { PY_HOLDERS_MAX = 4 };

struct py_place {
	char function[PY_FUNCTION_SIZE], file[PY_FILE_SIZE]; /* "": no sample of the pass has found it so far */
	int line;
	uint64_t code, ip, caller_code, caller_ip, generator, callee; /* as in struct py_counted */
	unsigned generators;                                          /* as in struct py_counted */
	uint64_t holders[PY_HOLDERS_MAX];                             /* codes of frames that held its iterator */
	bool is_stacked, is_held;                                     /* on the value stack of a frame; by a variable */
	bool is_recalled;                                             /* it is that of an earlier pass: not yet confirmed */
};

/* Zeroed at first. */
struct py_places {
	size_t next;
	struct {
		uint64_t sampler;
		struct py_place place;
	} list[PY_ITERATORS_MAX];
};

/* Remembers that a sample found a pass of this loader to be fetched there. */
void py_places_remember(struct py_places *places, uint64_t sampler, const struct py_place *place);
/* The place of the pass before, without its names; unchanged: none is known. */
void py_places_recall(struct py_places *places, uint64_t sampler, struct py_place *place);
/* A frame of `code` holds the iterator, if `generator` is not 0 by that generator. False: the pass is fetched
 * elsewhere than the place says. Confirms a recalled one. */
bool py_places_holds(
	struct py_places *places, uint64_t sampler, struct py_place *place, uint64_t code, uint64_t generator);
/* Whether it is a __next__, of any class. */
bool py_place_is_named_next(const struct py_code *code);
/* Whether this frame is searched for iterators: not what next() or iter() calls. */
bool py_place_may_hold(const struct py_sample *sample, size_t at);
/* The pass's iterator is fetching, in the frame `next`. */
void py_place_note_next(
	struct py_places *places, uint64_t sampler, const struct py_sample *sample, size_t next, struct py_place *place);
/* The frame `at` holds its iterator. */
void py_place_note_found(struct py_places *places, uint64_t sampler, const struct py_found *found,
	const struct py_sample *sample, size_t at, struct py_place *place);
/* The sample was taken during the pass: a library's function that fetched an earlier one may be called elsewhere. */
void py_place_confirm(const struct py_sample *sample, struct py_place *place);

#endif
