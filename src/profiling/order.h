/* order.h: what a request for a trace asks for. */
#ifndef PMTOP_PROFILING_ORDER_H
#define PMTOP_PROFILING_ORDER_H

#include <stdbool.h>
#include <stdint.h>

enum { PROFILING_STEPS_MAX = 100 };

/* When the steps of a trace begin. All zero: with the next step. */
struct profiling_start {
	bool is_batch;       /* with batch `batch` */
	uint64_t batch;      /* its number, as the program counts batches: batch_number() */
	uint64_t every;      /* if it is over: with the one so many later; 0: with the next step */
	int64_t realtime_ms; /* since 1970: not before; of a batch, when it is expected. 0: none */
	/* a batch, for Kineto, which does not know its number: the mean step, and when that time was estimated */
	double step_s;
	int64_t estimated_ms;
};

struct profiling;

struct profiling_order {
	const char *folder; /* absolute: where the trace shall be. Where the program sees other files than pmtop: its own */
	bool is_chosen;     /* the user named the folder */
	unsigned steps;     /* 1 to PROFILING_STEPS_MAX; 0 = a memory snapshot */
	int64_t limit_ns;   /* for the steps */
	bool is_automatic;  /* a snapshot that nobody asked for: only of a program that records a history of its memory */
	struct profiling_start start;
	struct profiling *beside; /* a request to another rank, which stays open as long: they share Kineto's socket */
};

#endif
