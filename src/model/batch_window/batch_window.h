/* batch_window.h: what the samplers saw while a batch ran: the evidence that is not in its own records.
 *
 * Samplers read a few times a second, so of a window they know bounds: a counter grew by at least what lies between two
 * readings inside it, and by at most what lies between the readings that enclose it. Where the window holds fewer than
 * two readings `least` is 0, and where no reading encloses it on one side `most` is NAN: nothing may be claimed from
 * what is not known. `usual` is what a window of this length has: the median rate of the minute before × its length. Of
 * flagged batches it is kept (struct flagged) as soon as a reading after the batch's end has come. */
#ifndef PMTOP_MODEL_BATCH_WINDOW_BATCH_WINDOW_H
#define PMTOP_MODEL_BATCH_WINDOW_BATCH_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

enum { WINDOW_FIGURES_MAX = 64, WINDOW_EVENTS_MAX = 12, WINDOW_TEXT_SIZE = 64, WINDOW_GPU_SIZE = 24 };

struct window_figure { /* a counter's growth, in its own unit; of processes of the tree by pid */
	enum metric metric;
	int32_t instance;
	double min, max, baseline; /* NAN = not known */
};

#define WINDOW_EVENTS(X) \
	X(CHILD_CAME)     /* a process of the tree: its command */ \
	X(CHILD_RAN)      /* it lived before the window, or longer; CPU seconds that it used in it */ \
	X(CHILD_WENT)     /* a process that is no loader worker */ \
	X(WORKER_WENT)    /* a loader worker died; text: why */ \
	X(WORKER_ON_DISK) /* seconds in which it was seen to wait for the disk (state D) */ \
	X(WORKER_STOPPED) /* seconds in which it was seen stopped (state T) */ \
	X(WORKER_FETCHED) /* seconds for which a fetch had run when it ended, or had run so far, in the window; usual: the \
						 worker's median, or its crew's where that is less */ \
	X(TARGET_STOPPED) /* seconds */ \
	X(TARGET_ON_DISK) /* seconds */ \
	X(CLOCK_STEPPED)  /* seconds, signed */ \
	X(SUSPENDED)      /* seconds */ \
	X(GPU_SLOWED)     /* a GPU's clock in Hz; usual: before; text: what held it back ("thermal slowdown"); part_ratio, \
						 busy_ratio */ \
	X(GPU_SHARED) /* another process, not of the run, came on it: its command; the share of the time in which it kept \
					 it busy */ \
	X(GPU_REPORTED) /* its driver reported something (XID): the code; text: in words */ \
	X(GPU_LOST)     /* it no longer answers; text: why */ \
	X(CPU_SLOWED)   /* the CPUs' mean clock in Hz, held back by heat; usual: before; part_ratio */ \
	X(MARKED)       /* text: the mark */

enum window_event_kind {
#define WINDOW_EVENT_ID(id) WINDOW_##id,
	WINDOW_EVENTS(WINDOW_EVENT_ID)
#undef WINDOW_EVENT_ID
};

/* Bits 1 << enum gpu_throttle. */
#define GPU_THROTTLED_BY_HEAT (1u << GPU_THROTTLE_HEAT | 1u << GPU_THROTTLE_HEAT_SOFTWARE)
#define GPU_THROTTLED_BY_POWER \
	(1u << GPU_THROTTLE_POWER_CAP | 1u << GPU_THROTTLE_POWER_BRAKE | 1u << GPU_THROTTLE_CURRENT)
#define GPU_THROTTLED_BY_HARDWARE (1u << GPU_THROTTLE_HARDWARE) /* heat or power */

struct window_event {
	enum window_event_kind kind;
	int32_t pid;     /* 0 = none */
	uint32_t worker; /* its id among its loader's workers; UINT32_MAX = not known, or no worker */
	int64_t time_ns;
	double value, baseline;    /* NAN = has none */
	char gpu[WINDOW_GPU_SIZE]; /* the GPU that it is of: "GPU 1", "GPU" where there is one; empty = none */
	uint32_t throttled;        /* of GPU_SLOWED: what held it back, one bit: what says the most of it */
	double part_ratio;         /* share of the window in which it was so; NAN = has none */
	double busy_ratio;         /* of that GPU, usually; NAN */
	char text[WINDOW_TEXT_SIZE];
};

struct batch_window {
	int64_t from_ns, to_ns; /* the step's window */
	double seconds;
	size_t readings; /* of the process source inside the window */
	size_t figure_count, event_count;
	struct window_figure figures[WINDOW_FIGURES_MAX];
	struct window_event events[WINDOW_EVENTS_MAX];
};

struct model;
struct run;
struct batch;

/* Of any finished batch whose window the samplers' history still covers. False: it does not (or not yet). */
bool model_batch_window(
	const struct model *model, const struct run *run, const struct batch *batch, struct batch_window *out);
/* The share of the last `seconds` in which any of these bits (1 << enum gpu_throttle) held a GPU back; NAN where it is
 * not known. In *clock_hz (may be NULL) its mean clock meanwhile; NAN where they did not, or it is not known. */
double gpu_throttled_ratio(
	const struct model *model, int32_t instance, uint32_t bits, double seconds, double *clock_hz);
/* NULL: not there. */
const struct window_figure *batch_window_find(
	const struct batch_window *batch_window, enum metric metric, int32_t instance);

#endif
