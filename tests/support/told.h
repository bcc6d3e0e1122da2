/* told.h: a model filled by hand, for tests of what pmtop tells: every figure stands here as the test put it. */
#ifndef PMTOP_TESTS_TOLD_H
#define PMTOP_TESTS_TOLD_H

#include "src/model/model.h"
#include "src/rules/alerts.h"

enum { TOLD_BATCHES = 16, TOLD_EPOCHS = 8, TOLD_OPERATIONS = 8, TOLD_FLAGGED = 16, TOLD_GAUGES = 4 };

#define TOLD_NAMES(X) \
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
enum told_name {
	TOLD_NO_NAME,
#define TOLD_NAME_ID(id, text) TOLD_##id,
	TOLD_NAMES(TOLD_NAME_ID)
#undef TOLD_NAME_ID
};

struct told {
	struct model *names; /* knows the names and nothing else */
	struct model model;  /* one run, one process; all that follows is its storage */
	struct run run;
	struct process process;
	struct batch ring[RUN_TRACKS_MAX][TOLD_BATCHES];
	struct epoch epochs[TOLD_EPOCHS];
	struct operation operations[TOLD_OPERATIONS];
	struct flagged flagged[TOLD_FLAGGED];
	__typeof__(*((struct run *)0)->gauges) gauges[TOLD_GAUGES];
	struct counter steps;
	__typeof__(*((struct run *)0)->meta) meta[1];
	struct alerts alerts;
};

/* Run "resnet50" of process 48213, train.py, with a track for mode train; no figure is known. */
void told_init(struct told *told);
void told_release(struct told *told);
/* A track with an empty ring. */
struct track *told_add_track(struct told *told, uint32_t mode);
/* A finished batch at the end of a track's ring, which began when the newest batch or epoch of the run ended; no loss,
 * no memory. */
struct batch *told_add_batch(struct told *told, struct track *track, uint64_t index, double seconds);
/* Begins with the model's time. */
struct epoch *told_begin_epoch(struct told *told, uint32_t index);
void told_end_epoch(struct told *told, struct epoch *epoch);
/* Outermost where `parent` is TOLD_NO_NAME. */
struct operation *told_add_operation(
	struct told *told, uint32_t mode, uint32_t name, uint32_t parent, uint64_t count, double total_s);
struct flagged *told_add_flagged(struct told *told, uint32_t epoch, uint64_t index, double step_s, double usual_s);
void told_add_gauge(struct told *told, uint32_t name, double value);
/* Batches of mode train are of two kinds from now on: 75 accumulate, 25 step, four to a step, 1.2 steps a second. */
void told_accumulate(struct told *told);
void told_add_late_figure(struct told *told, uint32_t mode, uint32_t name, double value);
struct alert *told_add_alert(struct told *told, const char *rule, enum severity severity, const char *message);

#endif
