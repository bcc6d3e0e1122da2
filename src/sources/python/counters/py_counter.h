/* py_counter.h: counts from outside how many batches torch DataLoaders have delivered: reads each iterator's own
 * count (_num_yielded) in the process's memory. It neither stops nor writes to the process. CPython 3.8 to 3.15 with
 * its GIL.
 *
 * An iterator is found on the stack (py_counter_note): in its __next__, or once a second among a frame's locals;
 * then it is polled without the stack. The count includes the batch in progress. An epoch that ends before its
 * iterator is found, and batches between the last poll and the end of an epoch, are missed.
 *
 * All calls for one process come from one thread. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_COUNTER_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_COUNTER_H

#include "src/sources/python/py_sampler.h"

enum { PY_ITERATORS_MAX = 16, PY_COUNTED_MAX = 2 * PY_ITERATORS_MAX };

/* One epoch, or one validation pass, of a DataLoader. An iterator may serve several in a row (persistent workers),
 * and a new iterator may reuse an address, so each epoch has a serial of its own. */
struct py_counted {
	uint64_t serial;   /* 1, 2, …: never reused */
	uint64_t iterator; /* its address */
	/* the address of its loader's index sampler, or of an iterable dataset: the same in all epochs of one loader; 0 =
	 * unknown */
	uint64_t sampler;
	/* Of a loop over anything else: what called its function, and where; sampler then says its length, too. 0 = a
	 * loader's
	 */
	uint64_t caller;
	uint64_t yielded;
	uint64_t base;   /* of a pass that continues an epoch: batches of its earlier passes, included in yielded; else 0 */
	uint64_t before; /* of the first pass of a loop: batches of earlier epochs, which no pass had */
	/* the now_ns of the call that read it; older than the current call's if it kept changing */
	int64_t read_ns;
	/* the last two reads that found it further than before; 0 = there was none */
	int64_t advanced_ns, before_ns;
	int64_t found_ns;
	bool is_over; /* set once, with the last values */
	/* of one that is over: its loop has no `break`, and the program goes on: it has had all its iterations */
	bool is_exhausted;
	uint64_t length; /* batches in the epoch, len(loader); 0 = unknown */
	/* backward or the optimizer was seen to run in it; none was, or another loop is known to train; or soon known */
	bool trains, evaluates, is_undecided;
	bool is_unknown; /* over, and too short to know whether it trained or validated */
	/* what a loop around it counts: number of the epoch from 1 on, and of epochs; 0 = unknown. Passes with the same key
	 * are in one epoch; 0: each pass is one */
	uint64_t epoch, epochs, epoch_key;
	bool awaits_epoch; /* of another loop of epochs than those before: it is known soon */
	bool is_alone;     /* of a loop that no other is around: it is no epoch */
	bool is_first;     /* pmtop watched the process since its start, and saw no pass before this one */
	uint32_t worker_count;
	uint32_t batch_size;         /* 0 = unknown */
	const char *function, *file; /* location of the loop; "" = unknown */
	int line;                    /* 0 until a sample found it fetching a batch */
	bool is_looped;              /* a loop holds it, and no variable, from which next() may take its batches */
	/* of that place and of its caller, as in struct py_site; ip 0: no sample found it fetching; others 0: unknown */
	uint64_t code, ip, caller_code, caller_ip;
	uint64_t callee;     /* the code of a library's function that was called there, and fetches; 0 = none */
	uint64_t generator;  /* without ip: the code of one that holds it, within that place */
	unsigned generators; /* without ip: how many hold one another there */
};

struct py_process;
struct py_counter;

/* UNSUPPORTED: pmtop cannot read this Python's objects; NO_MEMORY. `process` remains the caller's and must outlive
 * the counter. */
enum status py_counter_open(const struct py_process *process, struct py_counter **out, struct reason *why_not);
void py_counter_close(struct py_counter *counter);
/* Remembers each iterator on this stack, which was just sampled. Returns whether there was one. */
bool py_counter_note(struct py_counter *counter, const struct py_sample *sample, int64_t now_ns);
/* Reads the passes in progress; the result is valid until the next call. Those that have ended are left to the next
 * poll. */
size_t py_counter_live(struct py_counter *counter, int64_t now_ns, const struct py_counted **out);
/* The next note searches the frames for further iterators, if that takes less than 1/20 of a CPU. */
void py_counter_search_soon(struct py_counter *counter);
/* Polls all remembered iterators; the result is valid until the next call. END: the process has ended, or may not be
 * read any more: returns the last values. */
enum status py_counter_poll(struct py_counter *counter, int64_t now_ns, const struct py_counted **out, size_t *count);

#endif
