/* explanation.h: why one batch was slow, as computed by src/explain. A flagged batch stores its own (struct flagged).
 */
#ifndef PMTOP_MODEL_RUN_STEPS_EXPLANATION_H
#define PMTOP_MODEL_RUN_STEPS_EXPLANATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/run/run.h"

enum {
	EXPLAIN_CAUSES_MAX = 6,
	EXPLAIN_ROWS_MAX = RUN_PHASES_MAX * 2,
	EXPLAIN_CONTEXT_MAX = 32,
	EXPLAIN_WHAT_SIZE = 56
};

struct explain_row { /* a phase, depth first; parents before their children */
	uint32_t name, parent;
	unsigned depth;
	double this_s, baseline_s, excess_s; /* NAN if this batch, or the baseline, lacks the phase */
	/* of a row by stack samples: the standard errors, and the samples of the phase in this step; else 0 */
	double this_error_s, error_s; /* of this_s, and of excess_s */
	unsigned samples;
};

/* EXPLAIN_HAPPENING: an event; 1, baseline 0 */
enum explain_unit { EXPLAIN_SECONDS, EXPLAIN_COUNT, EXPLAIN_BYTES, EXPLAIN_HERTZ, EXPLAIN_HAPPENING };

struct explain_context {          /* what else happened in the window, with its baseline */
	char what[EXPLAIN_WHAT_SIZE]; /* "CPU time of the training thread", "major page faults", "worker 3: fetch", … */
	const char *key;              /* "cpu_s", "major_faults", …: as in JSON */
	enum explain_unit unit;
	double this_value, baseline_value; /* NAN = not known */
	double explains_ratio;             /* share of the excess, of causes with this as their first evidence; 0 = none */
};

/* Why a phase took longer. CAUSE_PHASE: only the phase is known; `what` then has no second part. */
#define CAUSES(X) \
	X(PHASE, "") \
	X(DISK_READ, "reading from disk") \
	X(DISK_WRITE, "writing to disk") \
	X(CPU_WAIT, "waiting for a CPU") \
	X(PREEMPTED, "descheduled") \
	X(MORE_WORK, "more CPU work") \
	X(SLEPT, "blocked (lock, network, device or timer)") \
	X(SWAPPED, "swapping") \
	X(ALLOCATION, "allocating memory") \
	X(WORKER_GONE, "a worker died") \
	X(WORKER_DISK, "a worker waits for the disk") \
	X(WORKER_STOPPED, "a worker is stopped") \
	X(WORKER_SLOW, "slow fetch by a worker") \
	X(WORKER_STARVED, "workers wait for a CPU") \
	X(CHECKPOINT, "writing a checkpoint") \
	X(GC, "garbage collection") \
	X(COMPILER, "compiler running") \
	X(CHILD, "a child process uses the CPU") \
	X(CHILD_AWAITED, "waiting for a child process") \
	X(THROTTLED, "throttled by the CPU quota") \
	X(STOPPED, "the process was stopped") \
	X(SUSPENDED, "the machine was suspended") \
	X(CLOCK, "the system clock was set") \
	X(GPU_HEAT, "GPU thermally throttled") \
	X(GPU_POWER, "GPU throttled by its power limit") \
	X(GPU_CLOCK, "GPU clock fell") \
	X(GPU_SHARED, "another program started on the GPU") \
	X(GPU_WAIT, "waiting for the GPU") \
	X(GPU_WORK, "more GPU work") \
	X(CPU_HEAT, "CPUs thermally throttled") \
	X(RANK, "waiting for a slower rank") \
	X(BIGGER, "a larger batch") \
	X(LINE, "a line of code") \
	X(GIL, "waits for the GIL") \
	X(UNKNOWN, "unknown")

enum cause_kind {
#define CAUSE_ID(id, words) CAUSE_##id,
	CAUSES(CAUSE_ID)
#undef CAUSE_ID
		CAUSE_COUNT
};

enum { CAUSE_EVIDENCE_MAX = 4, CAUSE_NEXT_SIZE = 120 };

struct cause {
	enum cause_kind kind;
	/* begins with the phase: "data", "data › decode", "data: worker 3 waits for the disk", "forward: blocked in `with
	 * lock:`, train.py:81"; or "unknown" */
	char what[192];
	uint32_t phase;     /* outermost phase; NAME_NONE for unknown */
	double share_ratio; /* of the excess */
	double excess_s;
	size_t evidence_count; /* its figures, each with its baseline */
	/* unit in the key: "blocks_read", "run_queue_wait_s" */
	struct {
		const char *key;
		double this_value, baseline_value;
	} evidence[CAUSE_EVIDENCE_MAX];
	/* advice, with the values that the run published; empty = none */
	char next[CAUSE_NEXT_SIZE];
	char rank[32]; /* CAUSE_RANK: "rank 2", which it waited for; empty = unknown */
	/* the line of the user's code in which the time passed, for CAUSE_GIL that of the GIL's holder, for CAUSE_RANK that
	 * of the other rank; file NULL: not known. thread: the holder's name; NULL = unknown. They live as long as the
	 * model */
	const char *file, *thread;
	uint32_t line;
};

struct explanation {
	double step_s, baseline_s, excess_s, ratio;
	double samples, baseline_samples; /* NAN = not known */
	bool is_by_device;                /* the device's clock measured the rows */
	bool is_bigger;                   /* it had noticeably more samples than the baseline */
	bool is_sampled;                  /* the steps are inferred: rows, if any, are by stack samples */
	bool is_retained;                 /* … and the samples of this step are (were, when it was flagged) retained */
	unsigned stack_samples;           /* of this step; with fewer than three there are no rows by samples */
	size_t baseline_batches;          /* batches in the baseline; 0 = none, and no causes */
	size_t row_count, context_count, cause_count;
	struct explain_row rows[EXPLAIN_ROWS_MAX];
	struct explain_context context[EXPLAIN_CONTEXT_MAX];
	struct cause causes[EXPLAIN_CAUSES_MAX];
};

#endif
