/* py_iterators.h: how far an iterator of a running CPython is, and what must hold while that is read again. Private to
 * src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_ITERATORS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_ITERATORS_H

#include "src/sources/python/loops/py_attributes.h"
#include "src/sources/python/loops/py_stack_entries.h"

/* guards.form of an int: its address is in the word at guards.slot. Of changes (py_changes.h): so is that of the
 * variable's object. */
enum { PY_FORM_INT = 64, PY_FORM_CHANGES = 65 };

/* What py_gather.c has learned of generators. */
enum { PY_GATHERS_RETAINED = 16 };
struct py_gathers {
	size_t next; /* a new one replaces this one, modulo PY_GATHERS_RETAINED */
	struct py_gathered {
		uint64_t code, length; /* of the source */
		int loop;
		uint64_t divisor, last; /* of all positions, and the newest of them */
		unsigned positions;
		bool was_learned; /* or that it cannot be */
	} known[PY_GATHERS_RETAINED];
};

/* What py_own.c has read of an iterator, for a while. */
enum { PY_OWN_RETAINED = 8 };
struct py_own {
	size_t next; /* a new one replaces this one, modulo PY_OWN_RETAINED */
	struct py_own_known {
		uint64_t object, type;
		int64_t until_ns;
		char name[PY_LOOP_NAME_SIZE]; /* of the attribute that counts; "": there is none */
		uint64_t by, length;          /* what is added for each item; items, 0 = unknown */
	} known[PY_OWN_RETAINED];
};

struct py_iterators {
	const struct py_process *process;
	struct py_loop_codes *codes;
	struct py_classes classes;
	struct py_attributes attributes;
	struct py_gathers gathers;
	struct py_own own;
};

/* Reads the frame of a suspended generator, with the classes of what it holds. False: it has ended, or has no loops. */
bool py_iterator_generator(struct py_iterators *iterators, uint64_t generator, struct py_loop_frame *out);
/* Fills kind, object, position, length and guards from the iterator in this entry of the value stack. `loop`: the
 * `for` that iterates over it, for what its code shows of the first item. False: it is no iterator. */
bool py_iterator_measure(struct py_iterators *iterators, const struct py_loop_frame *frame, size_t entry,
	const struct py_code_loop *loop, struct py_loop *out);
/* Words of a source of this form, from its header on. */
size_t py_iterator_words(unsigned form);
/* The position in words of a source. False: they are not of such an object, or it is not the one of `guards`. */
bool py_iterator_decode(const struct py_iterators *iterators, const struct py_loop_guards *guards,
	const uint64_t value[PY_LOOP_VALUE_WORDS], uint64_t *position);
/* What follows from its position and length. */
void py_iterator_set_remaining(struct py_loop *loop);
/* The length of a list that has grown; 0 = unknown. */
uint64_t py_iterator_length(
	const struct py_iterators *iterators, const struct py_loop_guards *guards, uint64_t position);

/* -- for py_itertools.c -- */

/* How a source stores its position. Words: 0 references, 1 type, and then as named. */
enum py_form {
	PY_FORM_NONE,
	PY_FORM_RANGE_INDEX, /* to 3.11: index, start, step, length */
	PY_FORM_RANGE_REST,  /* since 3.12: next item, step, items that are left */
	PY_FORM_INDEX,       /* next index, what it iterates over */
	PY_FORM_INDEX_DOWN,  /* the same */
	PY_FORM_COUNT,       /* next number */
	PY_FORM_ISLICE,      /* iterator, next index to deliver, stop, step, items taken */
	/* Since 3.15, no object but two entries of a value stack: what it iterates over, next index. */
	PY_FORM_VIRTUAL,
	PY_FORM_CYCLE,  /* iterator, list of its items, next index in that */
	PY_FORM_REPEAT, /* item, times that are left */
	PY_FORM_TEE,    /* block of items, next index in that, of 32 bits */
	PY_FORMS
};

/* An iterator that is being measured. */
struct py_measuring {
	struct py_iterators *iterators;
	enum py_class class;
	const struct py_loop_frame *frame; /* NULL: unknown */
	const struct py_code_loop *loop;
	unsigned depth;
	/* The loop was asking for its next item, so an iterator may be ahead of the one that asks it. */
	bool is_moving;
};

/* The `for`'s own call of `name`, whose result this iterator is; NULL: it is no such call. */
const struct py_loop_call *py_measure_call_of(const struct py_measuring *at, const char *name);
/* Of a call whose argument with this number is where it starts: 0 if it has fewer. */
bool py_measure_origin_of_call(const struct py_measuring *at, const char *name, uint32_t number, uint64_t *out);
/* Reads a source that holds its own position. False: it is gone, and another object is at its address. */
bool py_measure_source(const struct py_measuring *at, uint64_t object, enum py_form form, struct py_loop *out);
void py_measure_position(const struct py_measuring *at, struct py_loop *out);
/* What another iterator delivers. */
void py_measure_inner(const struct py_measuring *at, uint64_t object, struct py_loop *out);
/* Takes over how an inner iterator is measured. */
void py_measure_adopt(struct py_loop *out, const struct py_loop *inner);

#endif
