/* explanation.h: why one batch was slow, as src/explain works it out. A flagged batch holds its own (struct flagged).
 */
#ifndef PMTOP_MODEL_RUN_EXPLANATION_H
#define PMTOP_MODEL_RUN_EXPLANATION_H

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
	double this_s, baseline_s, excess_s; /* NAN where it was not in this batch, or is not usual */
};

/* a happening: 1, usually 0 */
enum explain_unit { EXPLAIN_SECONDS, EXPLAIN_COUNT, EXPLAIN_BYTES, EXPLAIN_HERTZ, EXPLAIN_HAPPENING };

struct explain_context {          /* what else happened in the window: evidence, against the usual */
	char what[EXPLAIN_WHAT_SIZE]; /* "CPU time of the training thread", "major faults", "worker 3: fetch", … */
	const char *key;              /* "cpu_s", "major_faults", …: as in JSON */
	enum explain_unit unit;
	double this_value, baseline_value; /* NAN = not known */
	double explains_ratio;             /* of the excess: the causes that rest on it first; 0 = none */
};

/* Why a phase took longer. CAUSE_PHASE: only where it lies is known; then `what` has no second part. */
#define CAUSES(X) \
	X(PHASE, "") \
	X(DISK_READ, "reading from disk") \
	X(DISK_WRITE, "writing to disk") \
	X(CPU_WAIT, "waiting for a CPU") \
	X(PREEMPTED, "descheduled") \
	X(MORE_WORK, "more work on the CPU") \
	X(SLEPT, "waiting, neither on the CPU nor for the disk") \
	X(SWAPPED, "swapping") \
	X(ALLOCATION, "memory being allocated") \
	X(WORKER_GONE, "a worker is gone") \
	X(WORKER_DISK, "a worker waits for the disk") \
	X(WORKER_STOPPED, "a worker is stopped") \
	X(WORKER_SLOW, "a worker's fetch took long") \
	X(WORKER_STARVED, "the workers wait for a CPU") \
	X(CHECKPOINT, "a checkpoint is written") \
	X(GC, "garbage collection") \
	X(COMPILER, "a compiler runs") \
	X(CHILD, "another process of the run takes the CPU") \
	X(CHILD_AWAITED, "waiting for a process that it started") \
	X(THROTTLED, "the CPU quota is used up") \
	X(STOPPED, "the process was stopped") \
	X(SUSPENDED, "the machine was suspended") \
	X(CLOCK, "the clock was set") \
	X(GPU_HEAT, "GPU too hot: its clock fell") \
	X(GPU_POWER, "GPU short of power: its clock fell") \
	X(GPU_CLOCK, "GPU clock fell") \
	X(GPU_SHARED, "another program came on the GPU") \
	X(GPU_WAIT, "waiting for the GPU") \
	X(GPU_WORK, "the GPU works longer") \
	X(CPU_HEAT, "CPUs too hot: their clock fell") \
	X(RANK, "waiting for a slower rank") \
	X(BIGGER, "a bigger batch") \
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
	/* begins with the phase: "data", "data › decode", "data: worker 3 waits for the disk"; or "unknown" */
	char what[96];
	uint32_t phase;     /* outermost phase; NAME_NONE for unknown */
	double share_ratio; /* of the excess */
	double excess_s;
	size_t evidence_count; /* the figures that it rests on, against the usual */
	/* unit in the key: "blocks_read", "run_queue_wait_s" */
	struct {
		const char *key;
		double this_value, baseline_value;
	} evidence[CAUSE_EVIDENCE_MAX];
	/* what to try, made concrete with what the run published; empty = nothing better than the phase's advice */
	char next[CAUSE_NEXT_SIZE];
};

struct explanation {
	double step_s, baseline_s, excess_s, ratio;
	double samples, baseline_samples; /* NAN = not known */
	bool is_by_device;                /* the rows are of the device's clock */
	bool is_bigger;                   /* it had noticeably more samples than usual */
	size_t baseline_batches;          /* what "usual" is made of; 0 = nothing to compare with, no causes */
	size_t row_count, context_count, cause_count;
	struct explain_row rows[EXPLAIN_ROWS_MAX];
	struct explain_context context[EXPLAIN_CONTEXT_MAX];
	struct cause causes[EXPLAIN_CAUSES_MAX];
};

/* The explanation that a flagged batch holds. Before explain_flagged() has filled it: one without rows and causes,
 * whose figures are NAN. */
const struct explanation *flagged_explanation(const struct flagged *flagged);

#endif
