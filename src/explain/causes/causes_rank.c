#include "src/explain/causes/causes_rank.h"

#include <math.h>
#include <stdio.h>

#include "src/explain/causes/causes.h"
#include "src/explain/causes/causes_account.h"
#include "src/explain/causes/causes_claims.h"
#include "src/explain/causes/causes_line.h"
#include "src/model/batch_window/batch_window.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/ranks.h"

/* Fewer samples of the other rank name no line; the line has at least this share of them. */
enum { LINE_SAMPLES_MIN = 2, RANK_SIZE = sizeof((struct cause *)0)->rank };
static const double line_min_ratio = 0.5;

/* Does the phase, or one inside it that has most of its excess, wait for other ranks by its name? */
static bool is_wait(const struct case_file *file, const struct pool *pool)
{
	const struct explain_row *end = file->out->rows + file->out->row_count;
	bool is = false;
	for (const struct explain_row *row = pool->row; row < end && (row == pool->row || row->depth > pool->row->depth);
		 row++)
		is |= row->excess_s > pool->row->excess_s / 2 && ranks_is_wait(run_name(file->run, row->name));
	return is;
}

static void write_rank(const struct waited_for *waited, char out[RANK_SIZE])
{
	if (waited->number >= 0)
		snprintf(out, RANK_SIZE, "rank %ld", waited->number);
	else
		snprintf(out, RANK_SIZE, "process %d", (int)waited->pid);
}

/* Where in the step it waited is not known: in its communication and backward first. */
void claim_waited_for(struct case_file *file, struct pool *pools, size_t count)
{
	const struct waited_for *waited = file->batch_window ? &file->batch_window->waited_for : NULL;
	double left_s = waited ? waited->seconds - (isnan(waited->usual_s) ? 0 : waited->usual_s) : 0;
	char who[RANK_SIZE];
	if (!(left_s > 0))
		return;
	write_rank(waited, who);
	for (size_t i = 0; i < 2 * count; i++) {
		struct pool *pool = &pools[i % count];
		if (is_wait(file, pool) != (i < count))
			continue;
		struct claim claim = { .kind = CAUSE_RANK, .seconds = pool_take(&pool->left_s, left_s) };
		left_s -= claim.seconds;
		snprintf(claim.who, sizeof claim.who, waited->op[0] ? "%s in %.36s" : "%s", who, waited->op);
		claim_evidence(&claim, "waited_s", waited->seconds, waited->usual_s);
		claim_evidence(&claim, "waited_for_rank", waited->number < 0 ? (double)NAN : (double)waited->number, NAN);
		causes_add(file, pool->row, &claim);
	}
}

void claim_rank(struct case_file *file, struct pool *pool)
{
	if (rank_world_size(file->run) <= 1 || !is_wait(file, pool))
		return;
	struct claim claim = { .kind = CAUSE_RANK, .seconds = pool_take(&pool->away_s, INFINITY) };
	claim_evidence(&claim, "waited_s", claim.seconds, NAN);
	causes_add(file, pool->row, &claim);
}

void causes_add_other_line(struct case_file *file)
{
	const struct waited_for *waited = file->batch_window ? &file->batch_window->waited_for : NULL;
	struct cause *cause = file->out->causes, *end = cause + file->out->cause_count;
	while (cause < end && cause->kind != CAUSE_RANK)
		cause++;
	if (cause == end || !waited || !(waited->seconds > 0))
		return;
	write_rank(waited, cause->rank);
	const struct sampled_line *line = &waited->line;
	if (line->line > 0 && line->count >= LINE_SAMPLES_MIN && line->count >= line_min_ratio * line->samples)
		cause_say_other_line(cause, line);
	else if (waited->phase[0])
		cause_say_other_phase(cause, waited->phase);
}
