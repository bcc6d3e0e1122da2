/* causes.h: why the phases of a slow batch took longer: an account, in seconds, of what its thread did in the excess.
 * Private to src/explain.
 *
 * A thread is on the CPU, in a run queue, or away (blocked, asleep). The batch's record has the first two, each
 * compared with the baseline; the rest of an excess is the third. Each claim takes seconds out of one of these pools,
 * so no second is claimed twice. Samplers name what a pool was spent on, using the minimum (`min`) that they certainly
 * saw. */
#ifndef PMTOP_EXPLAIN_CAUSES_H
#define PMTOP_EXPLAIN_CAUSES_H

#include "src/explain/advice.h"
#include "src/explain/explain.h"

/* The excess of one outermost phase. left_s: not yet assigned. */
struct pool {
	const struct explain_row *row;
	double left_s, cpu_s, queue_s, away_s;
	/* cpu_s ÷ time on the CPU, at least 1: on contended CPUs, cpu_s includes the run-queue wait that the work brings */
	double wait_ratio;
	bool is_queue_known; /* false: away_s may include waiting for a CPU */
};

/* A claim: its words and its evidence. */
struct claim {
	enum cause_kind kind;
	const struct explain_row *row;
	double seconds;
	char who[WINDOW_TEXT_SIZE]; /* "worker 3", "cc1plus"; empty = none */
	size_t evidence_count;
	struct {
		const char *key;
		double this_value, baseline_value;
	} evidence[CAUSE_EVIDENCE_MAX];
};

enum { CLAIMS_MAX = 64 };

/* One batch being explained. */
struct case_file {
	const struct run *run;
	const struct batch *batch;
	const struct baseline *baseline;
	const struct batch_window *batch_window; /* NULL if no sampler covered the window */
	struct explanation *out;
	double whole_s; /* the denominator of shares */
	/* already explained by span names: within the batch, and after it (NAME_BETWEEN) */
	double named_s[2];
	size_t claim_count;
	struct claim claims[CLAIMS_MAX];
};

/* Ignores NAN. */
void claim_evidence(struct claim *claim, const char *key, double this_value, double baseline_value);

/* -- causes_account.c: pools -- */

/* Divides the CPU time and run-queue wait of the records among the unassigned time of the phases. */
void account_share_out(struct case_file *file, struct pool *pools, size_t count);
/* The record that covers that row: the batch's; for NAME_BETWEEN the next batch's. NULL = none. */
const struct evidence *account_evidence(const struct case_file *file, const struct explain_row *row);
/* The excess over the baseline; 0 if below it, NAN if either is unknown. */
double excess_over(double this_value, double baseline_value);
/* Takes at most max_s out of a pool and returns how much it took. NAN takes nothing. */
double pool_take(double *from_s, double max_s);
/* Takes at most max_s on the CPU, plus the run-queue wait that belongs to it. */
double pool_take_cpu(struct pool *pool, double max_s);

/* -- causes_seen.c: what the samplers saw; 0 or NULL if they took no reading inside the window -- */

#define S_PER_NS 1e-9

/* Certain growth of a counter inside the window, in excess of its baseline; 0 if there was none. */
double seen_excess(const struct case_file *file, enum metric metric, int32_t instance);
/* Upper bound of a counter's growth in the window. It only names the reason of a wait that the record shows; it never
 * claims seconds itself. */
double seen_about(const struct case_file *file, enum metric metric);
/* The largest such event; `pid` 0: of any process. NULL = none. */
const struct window_event *seen_event(const struct case_file *file, enum window_event_kind kind, int32_t pid);
/* Seconds of that event; 0 if there is none. */
double seen_seconds(const struct case_file *file, enum window_event_kind kind);

/* came: it started inside the window; alive_s: its certain lifetime inside the window. */
struct child {
	const struct window_event *event;
	bool is_compiler, came, went;
	double alive_s, cpu_s;
};
struct child find_child(const struct case_file *file);

/* -- each claims the time of a pool that it can explain, and takes it out of the pool -- */

void claim_by_name(struct case_file *file, struct pool *pool);
void claim_workers(struct case_file *file, struct pool *pool);
void claim_gpu(struct case_file *file, struct pool *pool);
/* For rows that the device's clock measured. */
void claim_device(struct case_file *file, struct pool *pool);
void claim_cpu_heat(struct case_file *file, struct pool *pool);
void claim_bigger(struct case_file *file, struct pool *pool);
void claim_away(struct case_file *file, struct pool *pool);
void claim_queue(struct case_file *file, struct pool *pool);
void claim_cpu(struct case_file *file, struct pool *pool);
void claim_child(struct case_file *file, struct pool *pool, double *from_s, const struct child *child,
	enum cause_kind kind, double max_s);

/* -- explain.c -- */

/* `batch_window` is NULL if no sampler covered the window. Readers use flagged_explanation() or explain_any() instead.
 */
void explain_batch(const struct run *run, const struct batch *batch, const struct baseline *baseline,
	const struct batch_window *batch_window, struct explanation *out);

/* -- causes.c -- */

void causes_find(struct case_file *file);
void causes_add(struct case_file *file, const struct explain_row *row, const struct claim *claim);
bool causes_has_workers(const struct case_file *file, const struct explain_row *row);

/* -- explain_context.c: call it after causes_find() -- */

void explain_context(struct case_file *file);

/* -- causes_words.c -- */

/* "worker 3", "worker process 4711"; empty if unknown. */
void call_worker(const struct window_event *event, char who[WINDOW_TEXT_SIZE]);

/* The phases that a cause names: "forward, backward: waiting for a CPU". */
enum { CAUSE_PHASES_MAX = 3 };
struct cause_phases {
	size_t count;
	const struct explain_row *rows[CAUSE_PHASES_MAX];
	bool are_more;
};
/* Fills in the cause's words ("data › decode: reading from disk") and its advice. */
void cause_say(
	const struct case_file *file, const struct claim *claim, const struct cause_phases *phases, struct cause *cause);

#endif
