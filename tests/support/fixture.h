/* fixture.h: a model filled by hand, for tests of output: every figure is the test's own. */
#ifndef PMTOP_TESTS_FIXTURE_H
#define PMTOP_TESTS_FIXTURE_H

#include "src/model/model.h"
#include "src/rules/alerts.h"

enum { FIXTURE_BATCHES = 16, FIXTURE_EPOCHS = 8, FIXTURE_OPERATIONS = 8, FIXTURE_FLAGGED = 16, FIXTURE_GAUGES = 4 };

#define FIXTURE_NAMES(X) \
	X(TRAIN, "train") \
	X(VALIDATION, "validation") \
	X(DATA, "data") \
	X(DECODE, "decode") \
	X(FORWARD, "forward") \
	X(LONG, "an operation whose name is too long for its column") \
	X(WIDE, "学習データの読み込みと前処理の全体") \
	X(ACCUMULATE, "accumulate") \
	X(GPU_FORWARD, "gpu.forward_s") \
	X(ACCURACY, "accuracy") \
	X(ALLOCATED, "cuda.allocated_bytes") \
	X(RESERVED, "cuda.reserved_bytes") \
	X(PEAK, "cuda.peak_bytes") \
	X(STEPS, "optimizer.steps")
enum fixture_name {
	FIXTURE_NO_NAME,
#define FIXTURE_NAME_ID(id, text) FIXTURE_##id,
	FIXTURE_NAMES(FIXTURE_NAME_ID)
#undef FIXTURE_NAME_ID
};

struct fixture {
	struct model *names; /* knows the names and nothing else */
	struct model model;  /* one run, one process; the members below are its storage */
	struct run run;
	struct process process;
	struct batch ring[RUN_TRACKS_MAX][FIXTURE_BATCHES];
	struct epoch epochs[FIXTURE_EPOCHS];
	struct operation operations[FIXTURE_OPERATIONS];
	struct flagged flagged[FIXTURE_FLAGGED];
	__typeof__(*((struct run *)0)->gauges) gauges[FIXTURE_GAUGES];
	struct counter steps;
	__typeof__(*((struct run *)0)->meta) meta[1];
	struct alerts alerts;
};

/* Run "resnet50" of process 48213, train.py, with a track for mode train; no figure is known. */
void fixture_init(struct fixture *fixture);
void fixture_release(struct fixture *fixture);
/* Before the flagged batches are shown or written. */
void fixture_explain(struct fixture *fixture);
/* A track with an empty ring. */
struct track *fixture_add_track(struct fixture *fixture, uint32_t mode);
/* A finished batch at the end of a track's ring, which began when the newest batch or epoch of the run ended; no loss,
 * no memory. */
struct batch *fixture_add_batch(struct fixture *fixture, struct track *track, uint64_t index, double seconds);
/* Begins with the model's time. */
struct epoch *fixture_begin_epoch(struct fixture *fixture, uint32_t index);
void fixture_end_epoch(struct fixture *fixture, struct epoch *epoch);
/* Outermost where `parent` is FIXTURE_NO_NAME. */
struct operation *fixture_add_operation(
	struct fixture *fixture, uint32_t mode, uint32_t name, uint32_t parent, uint64_t count, double total_s);
struct flagged *fixture_add_flagged(
	struct fixture *fixture, uint32_t epoch, uint64_t index, double step_s, double baseline_s);
void fixture_add_gauge(struct fixture *fixture, uint32_t name, double value);
/* From now on batches of mode train have two kinds: 75 accumulate, 25 step; four batches to a step, 1.2 steps a second.
 */
void fixture_accumulate(struct fixture *fixture);
void fixture_add_late_figure(struct fixture *fixture, uint32_t mode, uint32_t name, double value);
struct alert *fixture_add_alert(struct fixture *fixture, const char *rule, enum severity severity, const char *message);

#endif
