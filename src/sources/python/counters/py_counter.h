/* py_counter.h: how many batches the iterators of torch's DataLoader have delivered, counted from outside: each keeps
 * the number itself
 * (_num_yielded), and it is read where it lies. Nothing stops the process, nothing is written to it. CPython 3.8
 * to 3.13.
 *
 * An iterator is met on the stack (py_counter_note): in its __next__, or once a second among what a frame works with;
 * from then on it is polled without the stack. What is counted are batches that were handed out: the one that is being
 * worked on is among them. A pass that is over before it was met, and batches between the last poll and the end of a
 * pass, are not seen.
 *
 * All calls for one process come from one thread. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_COUNTER_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_COUNTER_H

#include "src/sources/python/py_sampler.h"

enum { PY_ITERATORS_MAX = 16, PY_COUNTED_MAX = 2 * PY_ITERATORS_MAX };

/* One pass through a loader. An iterator may make several, one after another: that of persistent workers does, and a
 * new one may lie where the last one lay. Each has a serial of its own. */
struct py_counted {
	uint64_t serial;   /* 1, 2, …: never used again */
	uint64_t iterator; /* its address */
	/* the address of its loader's sampler of indices: the same for all passes through one loader; 0 = not known */
	uint64_t sampler;
	uint64_t yielded;
	/* when it was read: the now_ns of that call; older than this call's where it did not hold still */
	int64_t read_ns;
	bool is_over;    /* told this once, with what was read last */
	uint64_t length; /* batches in the pass, as len(loader) has it; 0 = not known */
	uint32_t worker_count;
	uint32_t batch_size;         /* 0 = not known */
	const char *function, *file; /* where the loop stands; "" = not known */
	int line;                    /* 0 until it was seen to ask for a batch */
};

struct py_process;
struct py_counter;

/* UNSUPPORTED: this Python's objects are not known; NO_MEMORY. `process` remains the caller's and outlives the
 * counter. */
enum status py_counter_open(const struct py_process *process, struct py_counter **out, struct reason *why_not);
void py_counter_close(struct py_counter *counter);
/* Remembers each iterator that is met on this stack, which has just been looked at. Whether there was one. */
bool py_counter_note(struct py_counter *counter, const struct py_sample *sample, int64_t now_ns);
/* Reads all that are remembered; valid until the next call. END: the process has ended, or may not be read any more:
 * what was read last is told. */
enum status py_counter_poll(struct py_counter *counter, int64_t now_ns, const struct py_counted **out, size_t *count);

#endif
