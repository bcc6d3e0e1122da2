/* Finds the causes of a slow batch. Span names and workers claim time of a phase first; then the batch's record (CPU
 * time, run-queue wait) divides the rest of all phases. */
#include "src/explain/causes/causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/explain/causes/causes_account.h"
#include "src/explain/causes/causes_claims.h"
#include "src/explain/causes/causes_gpu.h"
#include "src/explain/causes/causes_line.h"
#include "src/explain/causes/causes_rank.h"
#include "src/explain/causes/causes_seen.h"
#include "src/explain/causes/causes_words.h"

/* Causes below this share of the excess are added to "unknown". */
#define CAUSE_MIN_RATIO 0.05
/* Smaller shares would print as 0 %. */
#define NOTHING_RATIO 0.005
/* A cause names only phases that hold at least this share of it. */
#define PHASE_MIN_RATIO 0.2

/* Keeps the causes sorted, largest first. When the list is full, it drops the smallest, which becomes part of
 * "unknown". */
static void insert_cause(struct explanation *out, const struct cause *cause, size_t max)
{
	size_t at = out->cause_count;
	while (at > 0 && out->causes[at - 1].share_ratio < cause->share_ratio)
		at--;
	if (at >= max)
		return;
	size_t retained = out->cause_count < max ? out->cause_count : max - 1;
	memmove(&out->causes[at + 1], &out->causes[at], (retained - at) * sizeof *cause);
	out->causes[at] = *cause;
	out->cause_count = retained + 1;
}

void causes_add(struct case_file *file, const struct explain_row *row, const struct claim *claim)
{
	if (!(claim->seconds > 0) || file->claim_count == CLAIMS_MAX)
		return;
	file->claims[file->claim_count] = *claim;
	file->claims[file->claim_count++].row = row;
}

bool causes_has_workers(const struct case_file *file, const struct explain_row *row)
{
	long workers;
	if (phase_kind(file->run, row->name) != PHASE_DATA)
		return false;
	if (loader_count(file->run, "num_workers", &workers))
		return workers > 0;
	for (size_t i = 0; file->batch_window && i < file->batch_window->event_count; i++)
		if (file->batch_window->events[i].kind == WINDOW_WORKER_FETCHED ||
			file->batch_window->events[i].kind == WINDOW_WORKER_WENT)
			return true;
	return false;
}

/* By stack samples: only if the excess is certain. */
#define SAMPLED_ERRORS_MIN 2

static bool is_slower(const struct explain_row *row)
{
	return row->depth == 0 && row->excess_s > SAMPLED_ERRORS_MIN * row->error_s;
}

/* If some phases were faster than their baseline, the excess of the slower ones adds up to more than the batch's
 * excess. Shares are then relative to that sum. */
static double shared_seconds(const struct explanation *out)
{
	double slower_s = 0;
	for (size_t i = 0; i < out->row_count; i++)
		if (is_slower(&out->rows[i]))
			slower_s += out->rows[i].excess_s;
	return slower_s > out->excess_s ? slower_s : out->excess_s;
}

static size_t open_pools(const struct explanation *out, struct pool *pools)
{
	size_t count = 0;
	for (size_t i = 0; i < out->row_count; i++)
		if (is_slower(&out->rows[i]))
			pools[count++] = (struct pool){ .row = &out->rows[i], .left_s = out->rows[i].excess_s, .wait_ratio = 1 };
	return count;
}

/* Only the phase is known, not the reason. */
static void claim_phase(struct case_file *file, const struct pool *pool)
{
	struct claim claim = { .kind = CAUSE_PHASE, .seconds = pool->left_s + pool->cpu_s + pool->queue_s + pool->away_s };
	if (name_is_sampled(pool->row->name))
		claim_evidence(&claim, "phase_samples", pool->row->samples, NAN);
	if (pool->row->name != NAME_UNATTRIBUTED && pool->row->name != NAME_SAMPLED + CODE_PHASE_OTHER)
		causes_add(file, pool->row, &claim);
}

/* -- from claims to causes -- */

static bool are_one(const struct claim *a, const struct claim *b)
{
	return a->kind == b->kind && a->kind != CAUSE_PHASE && strcmp(a->who, b->who) == 0;
}

/* Adds phases with at least PHASE_MIN_RATIO of the cause; the main one is first already. */
static void add_phase(struct cause_phases *phases, const struct claim *claim, double whole_s)
{
	if (claim->seconds < PHASE_MIN_RATIO * whole_s)
		return;
	if (phases->count < CAUSE_PHASES_MAX)
		phases->rows[phases->count++] = claim->row;
	else
		phases->are_more = true;
}

/* Sums one cause over all phases. Its words and evidence are those of its largest claim. */
static void add_cause(struct case_file *file, const struct claim *main_claim)
{
	struct cause_phases phases = { .count = 1, .rows = { main_claim->row } };
	double seconds = 0;
	for (size_t i = 0; i < file->claim_count; i++)
		if (&file->claims[i] == main_claim || are_one(&file->claims[i], main_claim))
			seconds += file->claims[i].seconds;
	if (!(seconds >= CAUSE_MIN_RATIO * file->whole_s))
		return;
	for (size_t i = 0; i < file->claim_count; i++)
		if (&file->claims[i] != main_claim && are_one(&file->claims[i], main_claim))
			add_phase(&phases, &file->claims[i], seconds);
	struct cause cause = { .kind = main_claim->kind,
		.phase = main_claim->row->name,
		.share_ratio = fmin(seconds / file->whole_s, 1),
		.excess_s = seconds,
		.evidence_count = main_claim->evidence_count };
	for (size_t i = 0; i < main_claim->evidence_count; i++) {
		cause.evidence[i].key = main_claim->evidence[i].key;
		cause.evidence[i].this_value = main_claim->evidence[i].this_value;
		cause.evidence[i].baseline_value = main_claim->evidence[i].baseline_value;
	}
	cause_say(file, main_claim, &phases, &cause);
	insert_cause(file->out, &cause, EXPLAIN_CAUSES_MAX - 1);
}

static bool is_main(const struct case_file *file, const struct claim *claim)
{
	for (size_t i = 0; i < file->claim_count; i++) {
		const struct claim *other = &file->claims[i];
		if (other != claim && are_one(other, claim) &&
			(other->seconds > claim->seconds || (other->seconds == claim->seconds && other < claim)))
			return false;
	}
	return true;
}

static void add_unknown(struct case_file *file)
{
	double explained_s = 0;
	for (size_t i = 0; i < file->out->cause_count; i++)
		explained_s += file->out->causes[i].excess_s;
	struct cause unknown = {
		.kind = CAUSE_UNKNOWN, .what = "unknown", .phase = NAME_NONE, .excess_s = file->whole_s - explained_s
	};
	unknown.share_ratio = unknown.excess_s / file->whole_s;
	if (unknown.share_ratio >= NOTHING_RATIO)
		insert_cause(file->out, &unknown, EXPLAIN_CAUSES_MAX);
}

void causes_find(struct case_file *file)
{
	struct pool pools[EXPLAIN_ROWS_MAX];
	size_t count = open_pools(file->out, pools);
	file->whole_s = shared_seconds(file->out);
	if (file->out->is_by_device) {
		for (size_t i = 0; i < count; i++) {
			pools[i].away_s = pool_take(&pools[i].left_s, INFINITY);
			claim_device(file, &pools[i]);
		}
		count = 0;
	}
	for (size_t i = 0; i < count; i++) {
		claim_by_name(file, &pools[i]);
		claim_workers(file, &pools[i]);
	}
	claim_waited_for(file, pools, count);
	account_share_out(file, pools, count);
	for (size_t i = 0; i < count; i++) {
		claim_bigger(file, &pools[i]);
		claim_away(file, &pools[i]);
		claim_queue(file, &pools[i]);
		claim_cpu(file, &pools[i]);
		claim_phase(file, &pools[i]);
	}
	for (size_t i = 0; i < file->claim_count; i++)
		if (is_main(file, &file->claims[i]))
			add_cause(file, &file->claims[i]);
	add_unknown(file);
	causes_add_other_line(file);
	causes_add_line(file);
}
