/* The order of claims: what the names of spans and the workers say of one phase; then what the records say of all of them. */
#include "src/rules/causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Less of the excess than this is left to "unknown": it would be a line without a message. */
#define CAUSE_LEAST_RATIO 0.05
/* A share that would print as 0 %. */
#define NOTHING_RATIO 0.005

/* Keeps the causes sorted, largest first. When the room is used up the smallest is dropped, and so becomes part of the unknown. */
static void insert_cause(struct explanation *out, const struct cause *cause, size_t most)
{
	size_t at = out->cause_count;
	while (at > 0 && out->causes[at - 1].share_ratio < cause->share_ratio)
		at--;
	if (at >= most)
		return;
	size_t kept = out->cause_count < most ? out->cause_count : most - 1;
	memmove(&out->causes[at + 1], &out->causes[at], (kept - at) * sizeof *cause);
	out->causes[at] = *cause;
	out->cause_count = kept + 1;
}

void causes_add(struct case_file *file, const struct explain_row *row, const struct claim *claim)
{
	double share_ratio = claim->seconds / file->whole_s;
	struct explanation *out = file->out;
	if (!(share_ratio >= CAUSE_LEAST_RATIO) || (out->cause_count == EXPLAIN_CAUSES_MAX - 1 && out->causes[out->cause_count - 1].share_ratio >= share_ratio))
		return;
	struct cause cause = { .kind = claim->kind, .phase = row->name, .share_ratio = share_ratio, .excess_s = claim->seconds, .evidence_count = claim->evidence_count };
	for (size_t i = 0; i < claim->evidence_count; i++) {
		cause.evidence[i].key = claim->evidence[i].key;
		cause.evidence[i].this_value = claim->evidence[i].this_value;
		cause.evidence[i].usual_value = claim->evidence[i].usual_value;
	}
	cause_say(file, row, claim, &cause);
	insert_cause(out, &cause, EXPLAIN_CAUSES_MAX - 1);
}

bool causes_has_workers(const struct case_file *file, const struct explain_row *row)
{
	long workers;
	if (phase_kind(file->run, row->name) != PHASE_DATA)
		return false;
	if (loader_count(file->run, "num_workers", &workers))
		return workers > 0;
	for (size_t i = 0; file->around && i < file->around->event_count; i++)
		if (file->around->events[i].kind == AROUND_WORKER_FETCHED || file->around->events[i].kind == AROUND_WORKER_WENT)
			return true;
	return false;
}

/* Where some phases were faster than usual, the slower ones together exceed the batch's excess: shares are then of what they have together. */
static double shared_seconds(const struct explanation *out)
{
	double slower_s = 0;
	for (size_t i = 0; i < out->row_count; i++)
		if (out->rows[i].depth == 0 && out->rows[i].excess_s > 0)
			slower_s += out->rows[i].excess_s;
	return slower_s > out->excess_s ? slower_s : out->excess_s;
}

static size_t open_pools(const struct explanation *out, struct pool *pools)
{
	size_t count = 0;
	for (size_t i = 0; i < out->row_count; i++)
		if (out->rows[i].depth == 0 && out->rows[i].excess_s > 0)
			pools[count++] = (struct pool){ .row = &out->rows[i], .left_s = out->rows[i].excess_s };
	return count;
}

/* Where it lies is known, not why. */
static void claim_place(struct case_file *file, const struct pool *pool)
{
	struct claim claim = { .kind = CAUSE_PHASE, .seconds = pool->left_s + pool->cpu_s + pool->queue_s + pool->away_s };
	if (pool->row->name != NAME_UNATTRIBUTED)
		causes_add(file, pool->row, &claim);
}

void causes_find(struct case_file *file)
{
	struct explanation *out = file->out;
	struct pool pools[EXPLAIN_ROWS_MAX];
	size_t count = open_pools(out, pools);
	double explained_s = 0;
	file->whole_s = shared_seconds(out);
	for (size_t i = 0; i < count; i++) {
		claim_by_name(file, &pools[i]);
		claim_workers(file, &pools[i]);
	}
	account_share_out(file, pools, count);
	for (size_t i = 0; i < count; i++) {
		claim_bigger(file, &pools[i]);
		claim_away(file, &pools[i]);
		claim_queue(file, &pools[i]);
		claim_cpu(file, &pools[i]);
		claim_place(file, &pools[i]);
	}
	for (size_t i = 0; i < out->cause_count; i++)
		explained_s += out->causes[i].excess_s;
	struct cause unknown = { .kind = CAUSE_UNKNOWN, .what = "unknown", .phase = NAME_NONE, .excess_s = file->whole_s - explained_s };
	unknown.share_ratio = unknown.excess_s / file->whole_s;
	if (unknown.share_ratio >= NOTHING_RATIO)
		insert_cause(out, &unknown, EXPLAIN_CAUSES_MAX);
}
