/* script.h: a run emitted by hand, event by event, to a model. Times are seconds since SCRIPT_BASE_NS. The names of
 * story.h are published.
 *
 *   struct script script;
 *   script_open(&script, NULL);
 *   script_batch_begin(&script, 0, 1.0, 0);
 *   script_batch_end(&script, 0, 1.2, 1.0, NAN);
 *   script_apply(&script, 1.3);
 *   … script_run(&script) …
 *   script_close(&script); */
#ifndef PMTOP_TESTS_SCRIPT_H
#define PMTOP_TESTS_SCRIPT_H

#include "src/base/clock.h"
#include "src/model/model.h"
#include "tests/support/story.h"

#define SCRIPT_BASE_NS (INT64_C(5000) * NS_PER_S)

enum { SCRIPT_LANES = 4 };

struct script {
	struct model *model;
	struct sample_set set;
	uint64_t sequence[SCRIPT_LANES]; /* of the lane's next event; a test may set it */
	uint64_t batches;                /* batches finished in the run: the next one's number */
};

/* A new model and a run in it, live, id 0. `options` NULL: the defaults. */
void script_open(struct script *script, const struct model_options *options);
void script_close(struct script *script);
/* Applies the records since the last call, as one set read at this time. */
void script_apply(struct script *script, double at_s);
struct run *script_run(struct script *script);

int64_t script_ns(double at_s);
/* no event: no sequence */
struct record *script_add(struct script *script, enum record_kind kind, double at_s);
struct record *script_event(struct script *script, enum record_kind kind, unsigned lane, double at_s);
void script_batch_begin(struct script *script, unsigned lane, double at_s, uint64_t index);
void script_batch_end(struct script *script, unsigned lane, double at_s, double begin_s, double loss);
void script_span(struct script *script, unsigned lane, double begin_s, double end_s, uint32_t name, uint32_t parent);
void script_epoch(struct script *script, enum record_kind kind, double at_s, uint32_t index); /* lane 0 */
void script_mode(struct script *script, unsigned lane, double at_s, uint32_t name);
void script_meta(struct script *script, const char *key, const char *value);
void script_state(struct script *script, const struct run_state *state);
void script_figure(struct script *script, double at_s, enum metric metric, int32_t pid, double value);
void script_process(
	struct script *script, double at_s, int32_t pid, uint64_t start_ticks, const char *command, bool is_target);
/* A batch from begin_s to end_s after the last, and the begin of the next; applied at now_s or its end, if that is
 * later. */
void script_whole_batch(struct script *script, double begin_s, double end_s, double now_s);
/* Fails the test if there is none. */
const struct batch *script_batch(struct script *script, uint64_t ordinal);
const struct batch *script_newest_batch(struct script *script); /* that has ended */
/* A total of `count` equal durations. */
struct total_row *script_total(
	struct script *script, enum total_kind kind, unsigned lane, uint64_t upto, uint64_t count, double each_s);

/* `count` contiguous batches with equal steps from `at_s` on, applied as one set; batches take 90 % of the step.
 * Returns the begin of the next. */
double script_steps(struct script *script, double at_s, const double *steps_s, size_t count);

#endif
