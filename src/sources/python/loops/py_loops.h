/* py_loops.h: counts from outside what the loops of a running CPython have done: reads the iterators that its frames
 * hold on their value stacks, the ints that its loops assign, and the counters of progress bars and trainers. It
 * neither stops nor writes to the process. CPython 3.8 to 3.15 with its GIL;
 * seen: 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0, 3.14.10 and 3.15.2. Of a free-threaded one it reads nothing,
 * nor of code that a JIT compiler has taken over.
 *
 * py_loops_read finds the loops of a sampled stack; py_loop_poll reads one of them again without the stack. Python
 * keeps running meanwhile: a position was true at a moment during the call, or is not reported. Iterators of torch's
 * DataLoader are left to py_counter.h, which counts them.
 *
 * All calls for one process come from one thread. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_LOOPS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_LOOPS_H

#include "src/sources/python/py_sampler.h"

enum { PY_LOOPS_MAX = 64, PY_LOOP_NAME_SIZE = 48, PY_LOOP_PLACES = 5, PY_LOOP_WORDS = 16, PY_LOOP_VALUE_WORDS = 7 };

enum py_loop_kind {
	PY_LOOP_RANGE,
	PY_LOOP_ENUMERATE,
	PY_LOOP_LIST, /* over a list, forwards or in reverse */
	PY_LOOP_TUPLE,
	PY_LOOP_SEQUENCE, /* over an object with __getitem__ and no __iter__: a dataset, a NumPy array */
	PY_LOOP_ZIP,
	PY_LOOP_MAP,
	PY_LOOP_ITERTOOLS, /* what counts by itself, or passes on each item of another iterator; else the position is
						  unknown */
	PY_LOOP_GENERATOR, /* its position is that of the loop inside that yields once in each iteration */
	PY_LOOP_PROGRESS,  /* tqdm, rich: a loop over it, or a bar that the program advances (n and total) */
	PY_LOOP_INT,       /* not a loop: an int that a loop assigns: a local or global variable, or self.name += 1; or the
						  calls of a tf.function in it */
	PY_LOOP_STATE,     /* not a loop: an int attribute of a trainer's state: its global step or its epoch */
	PY_LOOP_CHANGES,   /* a loop that nothing counts, by how often a variable that it assigns was seen to change: the
						  position is relative, and a lower bound */
	PY_LOOP_OTHER,     /* over an iterator of another type: the position is unknown, but of some of the program's own
						  classes */
};

enum py_loop_reading {
	PY_LOOP_GOOD,   /* position (and length, what remains, object) are new */
	PY_LOOP_UNSURE, /* it changed while it was read: nothing is new; poll again */
	/* The loop, its frame or the process is gone, or another one is in its place. A small int of a frame that an
	 * exception ended may stay GOOD with its last value until the next call of a function. */
	PY_LOOP_ENDED,
};

/* A frame that must still be inside a loop of its code. Private to py_loops.c and its helpers. */
struct py_loop_place {
	uint64_t frame, code, lines; /* lines: the code object's line table, which another one at its address lacks */
	int loop;                    /* which loop of the code */
	bool is_generator;           /* whose yields are counted, not the iterations of its loop */
	uint32_t yield_at;           /* where it must wait: before or behind this yield, in units; 0 = anywhere */
};
struct py_loop_word {
	uint64_t address, word;
};
struct py_loop_guards {
	size_t place_count, word_count;
	struct py_loop_place places[PY_LOOP_PLACES];
	struct py_loop_word words[PY_LOOP_WORDS];
	bool is_moving;                      /* an iterator inside was between two items */
	bool has_inner_length;               /* the length follows from positions of several iterators */
	bool is_composite;                   /* the source advances before the loop gets its item */
	uint64_t slot;                       /* of an int: the word with its address */
	size_t rebound;                      /* of an int of an object that the loop replaces: 1 + its assignment */
	uint64_t source, type;               /* the object that holds the position, and its type */
	uint64_t origin;                     /* what the source stores before its first item */
	uint64_t value[PY_LOOP_VALUE_WORDS]; /* of the source, as last read */
	unsigned form;                       /* how the source stores its position */
	bool is_of_calls;                    /* of a tf.function (py_calls.h) */
	uint64_t ahead;                      /* items that the source has delivered before the first one of the loop */
	uint64_t divisor;                    /* items of the source in one of the loop; 0 = 1 */
	uint64_t round;                      /* the source begins anew after so many items; 0 = never */
};

struct py_loop {
	enum py_loop_kind kind;
	/* Identity of the activation that runs the loop: address of its frame and of its code object. A later call of the
	 * same function mostly has the same frame. */
	uint64_t frame, code;
	uint64_t slot;   /* address of the word that holds the iterator, the int, or of a bar or a state its attribute */
	uint64_t object; /* the iterator; the bar; the state; what has the int as attribute or item; 0 for other ints */
	/* Of an int its variable, or "train_step()"; of a bar or a state its variable and the attribute ("pbar.n",
	 * "state.global_step"); "" for an iterator on the value stack. Cleaned UTF-8. */
	char name[PY_LOOP_NAME_SIZE];
	/* False: the position is unknown (yet: a poll may find it). */
	bool has_position;
	/* It will have one, or be known to have none, after a few more readings. */
	bool is_learning;
	/* The iterator of a torch DataLoader that its items come from, which py_counter.h counts too; 0 = none. */
	uint64_t loader;
	/* zip: it ends with the first of several. islice, takewhile: it may end before what it iterates over. */
	bool is_zipped, may_end_early;
	/* The position counts from an unknown start: only its differences are true. The length is then unknown. */
	bool is_relative;
	/* Of a loop: items delivered so far, the one in progress included. Of an int, a bar, a state: its value. */
	uint64_t position;
	/* Items in all, as things stand; of a bar its total, of a state its maximum; 0 = unknown. Parts of a zip and
	 * sources of an islice whose lengths are unknown may end it earlier. */
	uint64_t length;
	/* Items still to come, which a relative position may have without a length. */
	bool has_remaining;
	uint64_t remaining;
	/* Line of the `for`; of an int that of its assignment; of a bar or a state that of the outermost loop
	 * around the current instruction. 0 = unknown. */
	int line;
	int loop_line; /* of an int that of its loop's header; else as `line` */
	/* Nesting among all loops (for and while) of its frame, 0 = the outermost. An int has the depth of the innermost
	 * loop that assigns it, and is reported while that loop runs; a bar or a state has 0. */
	unsigned depth;
	/* The sampled frame that runs the loop, 0 = the newest. With is_in_generator: that iterates over the generator
	 * whose suspended frame runs the loop. `site` is that frame's, valid as long as the sample is. */
	size_t frame_index;
	const struct py_site *site;
	bool is_in_generator;
	/* Of an int: its loop assigns it with +=; or only compares it to end, and something that it calls assigns it. */
	bool is_sum, is_compared;
	/* Of a sum: the same is added each time, and the position is how often (guards.divisor: what, 0 = 1). */
	bool is_by_same;
	/* Of a state: its value includes the step in progress. */
	bool counts_begun;
	/* Of a state: its value is the number of the epoch, not a step. */
	bool counts_epochs;
	/* A loop of a suspended generator that does not yield once in each iteration, or an int of such a loop: no count of
	 * the generator's items. */
	bool is_uneven;
	struct py_loop_guards guards;
};

/* Of an int that its loop advances by one. */
struct py_loop_bound {
	bool is_behind; /* += comes before the work: in it the int has counted the iteration in progress */
	bool has_end;
	uint64_t end;       /* iterations, if the int is 0 at first, from the comparison that ends the loop */
	uint64_t outer_end; /* the same from one that ends a loop around that; 0 = unknown */
};

/* Where a frame has the steps: a function with their loop; the line of that loop, 0 = unknown; and the DataLoader's
 * iterator that it iterates over, 0 = unknown. */
struct py_steps_at {
	bool is_function;
	int line;
	uint64_t iterator;
};

struct py_loss {
	double value;
	bool is_sum;          /* of the losses of the pass so far: what follows is of it */
	bool is_reset;        /* the loop, or what it calls, may reset it: only the difference of one addition is a loss */
	uint64_t slot, count; /* where it is; how often it was added to, since an unknown moment of the pass */
	/* But if the index advances with each addition, it was not reset between two readings of which the second one has
	 * the same `resets` as the first one has `resets_before`. */
	bool has_index;
	int64_t index, resets_before, resets;
};

struct py_process;
struct py_loops;

/* UNSUPPORTED: pmtop cannot read this Python's objects; NO_MEMORY. `process` remains the caller's and must outlive
 * the result. */
enum status py_loops_open(const struct py_process *process, struct py_loops **out, struct reason *why_not);
void py_loops_close(struct py_loops *loops);
/* Reads the loops of all frames of a sample that was just taken, the newest frame first, in each frame the outermost
 * loop first, then its ints; nothing of comprehensions that Python inlines (since 3.12). Returns how many. A frame that
 * has moved on since is read as it is now. */
size_t py_loops_read(struct py_loops *loops, const struct py_sample *sample, struct py_loop *out, size_t max);
/* Reads a loop around the sampled frame of this code, whose header has this line, by a variable that it assigns
 * (PY_LOOP_CHANGES; py_changes.h). False: each iteration assigns none. */
bool py_loops_read_changes(
	struct py_loops *loops, const struct py_sample *sample, uint64_t code, int line, struct py_loop *out);
/* The lines of the loops around a sampled instruction in its frame, by depth, without reading the process: only of code
 * that py_loops_read has read before. Returns how many. */
size_t py_loops_around(struct py_loops *loops, const struct py_site *site, int *lines, size_t max);
/* Whether the instruction at `ip` (as in struct py_site) asks an iterator for the next item of a loop: not a call of
 * next(). */
bool py_loops_asks(struct py_loops *loops, uint64_t code, uint64_t ip);
/* Whether the instruction at `ip` is in a `for` of a generator that yields once in each iteration, and does more than
 * ask for its next item: `for _ in range(n): yield next(batches)`. */
bool py_loops_yields_in_for(struct py_loops *loops, uint64_t code, uint64_t ip);
/* Whether that is a `for` of a generator which does not yield once for each item: it makes one of several, or leaves
 * some out. */
bool py_loops_gathers(struct py_loops *loops, uint64_t code, uint64_t ip);
/* Whether the only loop of this generator is a `for` that yields once for each item. */
bool py_loops_yields_each(struct py_loops *loops, uint64_t code);
/* Whether only the end of its iterator ends this loop: it has no `break`, `return` or `raise`. */
bool py_loops_lacks_break(struct py_loops *loops, const struct py_loop *loop);
/* The same of each `for` of this code. */
bool py_loops_code_lacks_break(struct py_loops *loops, uint64_t code);
/* The function that has this loop: of one in a generator not the sampled one. False: it is gone, or unknown. Both are
 * valid until the next call. */
bool py_loops_source(struct py_loops *loops, const struct py_loop *loop, const char **function, const char **file);
/* Of code with loops. */
bool py_loops_is_generator(struct py_loops *loops, uint64_t code);
/* Reads one loop again, mostly with one system call. Only its position, length, what remains, object and guards
 * change. */
enum py_loop_reading py_loop_poll(struct py_loops *loops, struct py_loop *loop);
/* What a state counts outlives its loop: the position when that has ended. False: it cannot be read any more. */
bool py_loop_read_left(struct py_loops *loops, struct py_loop *loop);
/* Of a loop over a range in steps of 1: the item in progress, and the range's end. False: it is over something else. */
bool py_loop_range_item(const struct py_loop *loop, uint64_t *item, uint64_t *end);
/* `ip`: as in struct py_site, an instruction of the loop's work. False: the loop's code is gone. */
bool py_loop_bound(struct py_loops *loops, const struct py_loop *loop, uint64_t ip, struct py_loop_bound *out);
/* Whether code that a loop calls adds to the attribute that the loop compares, outside of its own loops: *is_before:
 * above this instruction, else below. False: it does not, or both, or that is unknown. */
bool py_loops_sums(struct py_loops *loops, const struct py_loop *compared, uint64_t code, uint64_t ip, bool *is_before);
/* An int attribute of this object that is named as the number of epochs: "max_epochs"; 0 = it has none. */
uint64_t py_loops_epochs(struct py_loops *loops, uint64_t object);
/* The loss in a sampled frame that is in a loop: of a float variable that a loop of it assigns, and whose name is that
 * of a loss ("loss", "train_loss", "lossf"), or the newest value of a meter; or else what the loop of the steps
 * gathers: the last item of a list, or a sum. False: there is none, or it is NaN. */
bool py_loop_loss(struct py_loops *loops, const struct py_sample *sample, size_t frame_index,
	const struct py_steps_at *at, struct py_loss *out);
/* Whether a loop of this code gathers losses, if the code was read before. */
bool py_loops_gather_loss(const struct py_loops *loops, uint64_t code);
/* Whether this code, if it was read before and a loop of it may have a loss, calls backward by that name. */
bool py_loops_names_backward(const struct py_loops *loops, uint64_t code);
/* The loss that a trainer's state has logged last (transformers). */
bool py_loop_state_loss(struct py_loops *loops, const struct py_loop *state, double *out);

#endif
