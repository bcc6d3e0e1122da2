/* batch_window.h: what pmtop sampled on the machine while a batch ran: evidence beyond the batch's own records.
 *
 * Counters are read a few times per second, so only bounds of their growth within a window are known. `min` is the
 * growth between the first and the last reading inside the window (0 with fewer than two), `max` the growth between the
 * readings that enclose it (NAN if one is missing). `baseline` is the expected growth: the median rate of the minute
 * before × the window's length. Flagged batches keep their window (struct flagged) as soon as there is a reading after
 * the batch's end. */
#ifndef PMTOP_MODEL_BATCH_WINDOW_BATCH_WINDOW_H
#define PMTOP_MODEL_BATCH_WINDOW_BATCH_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/code/code_samples.h"
#include "src/model/code/code_threads.h"
#include "src/model/code/step_phases.h"
#include "src/model/collectives/waited_for.h"
#include "src/samples/sample_set.h"

enum { WINDOW_FIGURES_MAX = 64, WINDOW_EVENTS_MAX = 12, WINDOW_TEXT_SIZE = 64, WINDOW_GPU_SIZE = 24 };

struct window_figure { /* a counter's growth, in its unit; the instance of process metrics is the pid */
	enum metric metric;
	int32_t instance;
	double min, max, baseline; /* NAN = unknown */
};

#define WINDOW_EVENTS(X) \
	X(CHILD_CAME)     /* a process of the tree started; text: its command */ \
	X(CHILD_RAN)      /* a child that was not started in the window; CPU seconds it used in it */ \
	X(CHILD_WENT)     /* a process that is no DataLoader worker ended */ \
	X(WORKER_WENT)    /* a DataLoader worker died; text: the reason */ \
	X(WORKER_ON_DISK) /* seconds in state D (waiting for the disk) */ \
	X(WORKER_STOPPED) /* seconds in state T (stopped) */ \
	X(WORKER_FETCHED) /* a long fetch: seconds that it took, or has taken so far; baseline: the minimum of the \
						 worker's and the group's median */ \
	X(TARGET_STOPPED) /* seconds */ \
	X(TARGET_ON_DISK) /* seconds */ \
	X(CLOCK_STEPPED)  /* seconds, signed */ \
	X(SUSPENDED)      /* seconds */ \
	X(GPU_SLOWED)     /* a GPU's clock in Hz; baseline: before; text: the throttle reason ("thermal slowdown"); \
						 part_ratio,	 busy_ratio */ \
	X(GPU_SHARED)     /* a process of another program started to use it: its command; its busy ratio */ \
	X(GPU_REPORTED)   /* an event of the driver (XID): the code; text: the description */ \
	X(GPU_LOST)       /* it no longer answers; text: the reason */ \
	X(CPU_SLOWED)     /* mean clock of the CPUs in Hz, throttled by heat; baseline: before; part_ratio */ \
	X(MARKED)         /* text: the mark */

enum window_event_kind {
#define WINDOW_EVENT_ID(id) WINDOW_##id,
	WINDOW_EVENTS(WINDOW_EVENT_ID)
#undef WINDOW_EVENT_ID
};

struct window_event {
	enum window_event_kind kind;
	int32_t pid;     /* 0 = none */
	uint32_t worker; /* the worker's id; UINT32_MAX = unknown, or no worker */
	int64_t time_ns;
	double value, baseline;    /* NAN = none */
	char gpu[WINDOW_GPU_SIZE]; /* "GPU 1", or "GPU" if there is only one; empty = none */
	uint32_t throttled;        /* GPU_SLOWED: the most informative throttle reason, one bit */
	double part_ratio;         /* share of the window in which this was the case; NAN = none */
	double busy_ratio;         /* baseline of that GPU; NAN = unknown */
	char text[WINDOW_TEXT_SIZE];
};

struct batch_window {
	int64_t from_ns, to_ns; /* the step's window */
	double seconds;
	size_t readings; /* readings of the process source inside the window */
	size_t figure_count, event_count;
	struct window_figure figures[WINDOW_FIGURES_MAX];
	struct window_event events[WINDOW_EVENTS_MAX];
	struct sampled_line line; /* of the publishing process, as the next */
	struct sampled_gil gil;
	/* of an inferred run: the step's, and those of the steps before it */
	struct sampled_phases phases, baseline_phases;
	struct waited_for waited_for;
};

struct model;
struct run;
struct batch;

/* Fills the window of a completed batch. False: the history does not cover it any more, or not yet. */
bool model_batch_window(
	const struct model *model, const struct run *run, const struct batch *batch, struct batch_window *out);
/* NULL: not found. */
const struct window_figure *batch_window_find(
	const struct batch_window *batch_window, enum metric metric, int32_t instance);

/* -- within src/model -- */

struct candidates;

/* NULL: the list is full. */
struct window_event *batch_window_add(struct candidates *candidates, enum window_event_kind kind, int32_t pid,
	int64_t time_ns, double value, const char *text);
/* Call last after a set: attaches the notes to flagged batches. `all`: to all of them, else only to the newest. */
void model_refresh_batch_windows(struct model *model, bool all);

#endif
