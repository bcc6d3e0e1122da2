#include "src/explain/causes/causes_account.h"

#include <math.h>

#include "src/explain/causes/causes.h"
#include "src/model/run/figures/phases.h"
#include "src/model/run/steps/tracks.h"

double excess_over(double this_value, double baseline_value)
{
	double excess = this_value - baseline_value;
	return isfinite(excess) ? fmax(excess, 0) : NAN;
}

double pool_take(double *from_s, double max_s)
{
	double taken = isnan(max_s) ? 0 : fmin(fmax(max_s, 0), *from_s);
	*from_s -= taken;
	return taken;
}

double pool_take_cpu(struct pool *pool, double max_s) { return pool_take(&pool->cpu_s, max_s * pool->wait_ratio); }

/* -- records: a batch's record covers the time from the end of the batch before to its own end -- */

bool account_is_behind(const struct case_file *file, const struct explain_row *row)
{
	const struct batch *batch = file->batch;
	const struct phase_time *phase = phase_find(batch->phases, batch->phase_count, row->name, row->parent);
	return row->name == NAME_BETWEEN || (phase && batch->phases_behind >> (phase - batch->phases) & 1);
}

/* The batch that ended just before this one (step −1) or ends next (1); NULL if it is gone or of another mode. */
static const struct batch *neighbour(const struct case_file *file, int step)
{
	const struct batch *batch = file->batch;
	for (unsigned i = 0; i < file->run->track_count; i++) {
		const struct track *track = &file->run->tracks[i];
		const struct batch *here = track->ring ? track_batch(track, batch->ordinal) : NULL;
		if (!here || here->number != batch->number || here->begin_ns != batch->begin_ns)
			continue;
		const struct batch *other = track_batch(track, batch->ordinal + (uint64_t)(int64_t)step);
		return other && other->number == batch->number + (uint64_t)(int64_t)step ? other : NULL;
	}
	return NULL;
}

const struct evidence *account_evidence(const struct case_file *file, const struct explain_row *row)
{
	const struct batch *batch = account_is_behind(file, row) ? neighbour(file, 1) : file->batch;
	return batch && batch->has_evidence ? &batch->evidence : NULL;
}

static double between_s(const struct phase_time *phases, unsigned count, uint32_t behind)
{
	double seconds = 0;
	for (unsigned i = 0; i < count; i++)
		if (phases[i].parent == NAME_NONE && (phases[i].name == NAME_BETWEEN || behind >> i & 1))
			seconds += (double)phases[i].seconds;
	return seconds;
}

/* By how much the part of a record's window outside this step exceeded its baseline: that much of the record may belong
 * to the other step. */
static double spilt_s(const struct case_file *file, bool behind)
{
	const struct batch *other = neighbour(file, behind ? 1 : -1);
	double spilt = 0;
	if (other && behind)
		spilt = excess_over(other->batch_s, file->baseline->batch_s);
	else if (other)
		spilt = excess_over(between_s(other->phases, other->phase_count, other->phases_behind),
			between_s(file->baseline->phases, file->baseline->phase_count, 0));
	return isnan(spilt) ? 0 : spilt;
}

/* -- dividing the record among the phases -- */

static double own_cpu_s(const struct case_file *file, const struct explain_row *row)
{
	const struct phase_time *this = phase_find(file->batch->phases, file->batch->phase_count, row->name, row->parent),
							*baseline =
								phase_find(file->baseline->phases, file->baseline->phase_count, row->name, row->parent);
	return this ? excess_over((double)this->cpu_s, baseline ? (double)baseline->cpu_s : 0) : NAN;
}

/* Phases that publish their own CPU time get it; the rest of the record's CPU time is divided among the other
 * phases. */
static void share_cpu(struct case_file *file, struct pool *pools, size_t count, bool behind, double cpu_s)
{
	double others_s = 0;
	for (size_t i = 0; i < count; i++) {
		struct pool *pool = &pools[i];
		if (account_is_behind(file, pool->row) != behind)
			continue;
		double own_s = own_cpu_s(file, pool->row);
		pool->cpu_s = isnan(own_s) ? NAN : pool_take(&pool->left_s, own_s);
		if (isnan(own_s))
			others_s += pool->left_s;
		else
			cpu_s = fmax(cpu_s - pool->cpu_s, 0);
	}
	double ratio = others_s > 0 && !isnan(cpu_s) ? fmin(cpu_s / others_s, 1) : 0;
	for (size_t i = 0; i < count; i++)
		if (account_is_behind(file, pools[i].row) == behind && isnan(pools[i].cpu_s))
			pools[i].cpu_s = pool_take(&pools[i].left_s, ratio * pools[i].left_s);
}

static double left_of(const struct case_file *file, const struct pool *pools, size_t count, bool behind)
{
	double left_s = 0;
	for (size_t i = 0; i < count; i++)
		left_s += account_is_behind(file, pools[i].row) == behind ? pools[i].left_s : 0;
	return left_s;
}

/* On contended CPUs, work brings run-queue wait in a fixed ratio (the baseline's). The wait that belongs to additional
 * work counts as that work. unsure_s: CPU time and wait that may be of the other step. */
static void share_rest(const struct case_file *file, struct pool *pools, size_t count, bool behind, double queue_s,
	double unsure_s, double baseline_wait_ratio)
{
	double left_s = left_of(file, pools, count, behind);
	double ratio = left_s > 0 && !isnan(queue_s) ? fmin(queue_s / left_s, 1) : 0;
	double unsure_ratio = left_s > queue_s ? fmin(unsure_s / (left_s - queue_s), 1) : 0;
	for (size_t i = 0; i < count; i++) {
		if (account_is_behind(file, pools[i].row) != behind)
			continue;
		pools[i].queue_s = pool_take(&pools[i].left_s, ratio * pools[i].left_s);
		double carried_s = pool_take(&pools[i].queue_s, pools[i].cpu_s * baseline_wait_ratio);
		pools[i].wait_ratio = pools[i].cpu_s > 0 ? 1 + carried_s / pools[i].cpu_s : 1;
		pools[i].cpu_s += carried_s;
		pools[i].away_s = pool_take(&pools[i].left_s, INFINITY);
		pools[i].unsure_s = unsure_ratio * pools[i].away_s;
		pools[i].is_queue_known = !isnan(queue_s);
	}
}

void account_share_out(struct case_file *file, struct pool *pools, size_t count)
{
	double baseline_wait_ratio = file->baseline->evidence.run_queue_wait_s / file->baseline->evidence.cpu_s;
	for (int behind = 0; behind < 2; behind++) {
		const struct explain_row row = { .name = behind ? NAME_BETWEEN : NAME_NONE };
		const struct evidence *record = account_evidence(file, &row);
		double spilt = spilt_s(file, behind), cpu_s = NAN, queue_s = NAN, unsure_s = 0;
		if (record) {
			double cpu_max_s = excess_over(record->cpu_s, file->baseline->evidence.cpu_s) - file->named_s[behind],
				   queue_max_s = excess_over(record->run_queue_wait_s, file->baseline->evidence.run_queue_wait_s);
			cpu_s = fmax(cpu_max_s - spilt, 0);
			queue_s = fmax(queue_max_s - spilt, 0);
			unsure_s = fmax(cpu_max_s - cpu_s, 0) + fmax(queue_max_s - queue_s, 0);
		}
		bool is_known = record && isfinite(record->cpu_s) && isfinite(file->baseline->evidence.cpu_s);
		queue_s = record && isfinite(record->run_queue_wait_s) && isfinite(file->baseline->evidence.run_queue_wait_s)
			? queue_s
			: NAN;
		double fits = left_of(file, pools, count, behind) / (cpu_s + queue_s);
		if (fits < 1) {
			cpu_s *= fits;
			queue_s *= fits;
		}
		share_cpu(file, pools, count, behind, is_known ? cpu_s : NAN);
		if (is_known)
			share_rest(file, pools, count, behind, queue_s, unsure_s, baseline_wait_ratio);
	}
}
