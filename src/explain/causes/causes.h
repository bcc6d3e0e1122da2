/* causes.h: why the phases of a slow batch took longer: an account, in seconds, of what its thread did in the excess.
 * Private to src/explain.
 *
 * A thread is on the CPU, in a run queue, or away (blocked, asleep). The batch's record has the first two, each
 * compared with the baseline; the rest of an excess is the third. Each claim takes seconds out of one of these pools,
 * so no second is claimed twice. Samplers name what a pool was spent on, using the minimum (`min`) that they certainly
 * saw. */
#ifndef PMTOP_EXPLAIN_CAUSES_CAUSES_H
#define PMTOP_EXPLAIN_CAUSES_CAUSES_H

#include "src/explain/advice.h"
#include "src/explain/explain.h"

/* The excess of one outermost phase. left_s: not yet assigned. */
struct pool {
	const struct explain_row *row;
	double left_s, cpu_s, queue_s, away_s;
	/* cpu_s ÷ time on the CPU, at least 1: on contended CPUs, cpu_s includes the run-queue wait that the work brings */
	double wait_ratio;
	double unsure_s;     /* of away_s: may be CPU time or run-queue wait, of a record shared with another slow step */
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
	/* already explained by span names: within the batch, and after it */
	double named_s[2];
	size_t claim_count;
	struct claim claims[CLAIMS_MAX];
};

#define S_PER_NS 1e-9

void causes_find(struct case_file *file);
void causes_add(struct case_file *file, const struct explain_row *row, const struct claim *claim);
bool causes_has_workers(const struct case_file *file, const struct explain_row *row);

/* The phases that a cause names: "forward, backward: waiting for a CPU". */
enum { CAUSE_PHASES_MAX = 3 };
struct cause_phases {
	size_t count;
	const struct explain_row *rows[CAUSE_PHASES_MAX];
	bool are_more;
};

#endif
