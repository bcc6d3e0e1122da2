/* causes.h: why the phases of a slow batch took longer: an account, in seconds, of what its thread did with the excess.
 * Private to src/explain.
 *
 * A thread is on the CPU, in a run queue, or away (blocked, asleep). The batch's record tells the first two, each
 * against the usual; what they leave of an excess is the third. Each claim takes seconds out of one of these pools, so
 * none is claimed twice. Samplers name what a pool was spent on, and only by what they surely saw (`least`). */
#ifndef PMTOP_EXPLAIN_CAUSES_H
#define PMTOP_EXPLAIN_CAUSES_H

#include "src/explain/advice.h"
#include "src/explain/explain.h"

/* The excess of one outermost phase. left_s: nobody's yet. */
struct pool {
	const struct explain_row *row;
	double left_s, cpu_s, queue_s, away_s;
	/* of cpu_s: seconds in it for each that was spent on the CPU, since work brings waiting where CPUs are contended; 1
	 * and up */
	double wait_ratio;
	bool is_queue_known; /* false: what is away may have waited for a CPU */
};

/* A claim: its words, and the figures that it rests on. */
struct claim {
	enum cause_kind kind;
	const struct explain_row *row;
	double seconds;
	char who[WINDOW_TEXT_SIZE]; /* "worker 3", "cc1plus"; empty = nobody in particular */
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
	const struct batch_window *batch_window; /* NULL where no sampler saw the window */
	struct explanation *out;
	double whole_s; /* what shares are of */
	/* already explained by the names of spans: of the batch, of what lies behind it */
	double named_s[2];
	size_t claim_count;
	struct claim claims[CLAIMS_MAX];
};

/* not where the figure is NAN */
void claim_evidence(struct claim *claim, const char *key, double this_value, double baseline_value);

/* -- causes_account.c: pools -- */

/* Shares out what the records tell among what is left of the phases. */
void account_share_out(struct case_file *file, struct pool *pools, size_t count);
/* The record that tells of that row: the batch's, or of what lies behind its end the next one's. NULL = none. */
const struct evidence *account_evidence(const struct case_file *file, const struct explain_row *row);
/* By how much this is over the usual; 0 where it is not, NAN where either is not known. */
double over(double this_value, double baseline_value);
/* Takes at most so many seconds out of a pool; returns how many. NAN takes none. */
double pool_take(double *from_s, double most_s);
/* So many seconds on the CPU, with the waiting that they brought. */
double pool_take_cpu(struct pool *pool, double most_s);

/* -- causes_seen.c: what the samplers saw; nothing where they read nothing inside the window -- */

#define S_PER_NS 1e-9

/* Growth of a counter that was surely seen inside the window, over the usual; 0 where nothing was. */
double seen_over(const struct case_file *file, enum metric metric, int32_t instance);
/* The most by which it can have grown in the window, or usually does in so long a one: names what a wait was for that
 * the record tells of, and is never a second of its own. */
double seen_about(const struct case_file *file, enum metric metric);
/* The largest such event; `pid` 0: of any process. NULL = none. */
const struct window_event *seen_event(const struct case_file *file, enum window_event_kind kind, int32_t pid);
/* Its seconds; 0 where there is none. */
double seen_seconds(const struct case_file *file, enum window_event_kind kind);

/* came: it was seen inside the window, not before it; alive_s: how long it was surely there inside it. */
struct child {
	const struct window_event *event;
	bool is_compiler, came, went;
	double alive_s, cpu_s;
};
struct child find_child(const struct case_file *file);

/* -- each adds to file->out what it can explain of a pool, and takes that out of it -- */

void claim_by_name(struct case_file *file, struct pool *pool);
void claim_workers(struct case_file *file, struct pool *pool);
void claim_gpu(struct case_file *file, struct pool *pool);
/* All that is longer by the device's own clock. */
void claim_device(struct case_file *file, struct pool *pool);
void claim_cpu_heat(struct case_file *file, struct pool *pool);
void claim_bigger(struct case_file *file, struct pool *pool);
void claim_away(struct case_file *file, struct pool *pool);
void claim_queue(struct case_file *file, struct pool *pool);
void claim_cpu(struct case_file *file, struct pool *pool);
void claim_child(struct case_file *file, struct pool *pool, double *from_s, const struct child *child,
	enum cause_kind kind, double most_s);

/* -- explain.c -- */

/* `batch_window` is NULL where no sampler saw the window. Readers take what the flagged batch holds
 * (flagged_explanation()), or explain_any(). */
void explain_batch(const struct run *run, const struct batch *batch, const struct baseline *baseline,
	const struct batch_window *batch_window, struct explanation *out);

/* -- causes.c -- */

void causes_find(struct case_file *file);
void causes_add(struct case_file *file, const struct explain_row *row, const struct claim *claim);
bool causes_has_workers(const struct case_file *file, const struct explain_row *row);

/* -- explain_context.c: what else happened, after the causes were found -- */

void explain_context(struct case_file *file);

/* -- causes_words.c -- */

/* "worker 3", "worker process 4711"; empty where nothing is known. */
void call_worker(const struct window_event *event, char who[WINDOW_TEXT_SIZE]);

/* Of several phases with one cause these are named: "forward, backward: waiting for a CPU". */
enum { PLACES_MAX = 3 };
struct places {
	size_t count;
	const struct explain_row *rows[PLACES_MAX];
	bool are_more;
};
/* "data › decode: reading from disk", and what to try. */
void cause_say(
	const struct case_file *file, const struct claim *claim, const struct places *places, struct cause *cause);

#endif
