/* The steps in which patterns are searched, each rated against its neighbours of the same kind. */
#include "src/explain/patterns/patterns_steps.h"

#include <math.h>
#include <string.h>

#include "src/explain/patterns/patterns_private.h"
#include "src/model/run/steps/tracks.h"
#include "src/model/statistics/statistics.h"

enum { STEPS_MIN = 12, BLOCK = 64, SIDE = 4, ADDED_MIN = 3 };
/* A step is slow if it exceeds its base by SLOW_DEVIATIONS deviations and by SLOW_RATIO. DEVIATION_MIN: lower bound of
 * the deviation, relative to the step. */
#define SLOW_DEVIATIONS 4
#define SLOW_RATIO 0.1
#define DEVIATION_MIN 0.002
#define SCORE_MAX 3
/* The added batches count as equally slow with this share of the excess, in this share of the batches. */
#define PART_RATIO 0.6
#define PART_HITS_RATIO 0.7
#define MAD_TO_DEVIATION 1.4826

/* -- rows -- */

static void add_row(struct steps *steps, const struct batch *batch)
{
	size_t row = steps->count++;
	if (row == 0)
		steps->first_ordinal = batch->ordinal;
	uint32_t position = (uint32_t)(batch->ordinal - steps->first_ordinal);
	steps->batches[row] = batch;
	steps->step_s[row] = batch_pace_s(batch);
	steps->position[row] = position;
	steps->kind[row] = (uint8_t)track_kind(steps->track, batch->kind);
	steps->row_at[position] = (uint16_t)(row + 1);
	steps->position_end = position + 1;
}

static void gather_rows(struct steps *steps)
{
	const struct track *track = steps->track;
	uint64_t ordinal =
		track->end > STEPS_MAX && track->end - STEPS_MAX > track->first ? track->end - STEPS_MAX : track->first;
	memset(steps->row_at, 0, sizeof steps->row_at);
	for (; ordinal < track->end; ordinal++) {
		const struct batch *batch = track_batch(track, ordinal);
		if (batch && !batch->is_warmup && batch->step_s > 0 && isfinite(batch->step_s))
			add_row(steps, batch);
	}
}

size_t steps_row(const struct steps *steps, uint64_t ordinal)
{
	if (ordinal < steps->first_ordinal || ordinal - steps->first_ordinal >= steps->position_end)
		return steps->count;
	uint16_t row = steps->row_at[ordinal - steps->first_ordinal];
	return row ? (size_t)row - 1 : steps->count;
}

uint32_t steps_remainder(const struct steps *steps, enum clock_kind clock, uint32_t period, size_t row)
{
	return (clock == CLOCK_RUN ? steps->position[row] : (uint32_t)steps->batches[row]->index) % period;
}

bool steps_knew(const struct steps *steps, uint32_t period)
{
	for (size_t i = 0; i < steps->before->count; i++) {
		const struct pattern *pattern = &steps->before->list[i];
		if (pattern->kind == PATTERN_PERIOD && pattern->unit == PATTERN_BATCHES && pattern->period == period)
			return true;
	}
	return false;
}

/* -- epochs -- */

static bool is_next_in_epoch(const struct batch *before, const struct batch *batch)
{
	return batch->epoch_ordinal == before->epoch_ordinal && batch->index > before->index &&
		batch->index - before->index == batch->ordinal - before->ordinal;
}

/* Runs with one epoch, or with indexes that continue through the epochs, need only CLOCK_RUN. */
static void gather_epochs(struct steps *steps)
{
	for (size_t row = 0; row < steps->count; row++) {
		const struct batch *batch = steps->batches[row];
		if (batch->index > UINT32_MAX || batch->epoch_ordinal == 0) {
			steps->epoch_count = 0;
			return;
		}
		if (row > 0 && is_next_in_epoch(steps->batches[row - 1], batch)) {
			steps->epochs[steps->epoch_count - 1].last_position = steps->position[row];
			continue;
		}
		if (steps->epoch_count == EPOCHS_SEEN_MAX) {
			steps->epoch_count = 0;
			return;
		}
		uint32_t position = steps->position[row];
		steps->epochs[steps->epoch_count++] = (struct span_of_epoch){ position, position, (uint32_t)batch->index };
	}
	for (size_t i = 1; i < steps->epoch_count; i++) {
		const struct span_of_epoch *epoch = &steps->epochs[i], *before = epoch - 1;
		steps->restarts |= epoch->first_index != before->first_index + (epoch->first_position - before->first_position);
	}
}

/* -- rating against neighbours -- */

static void set_bases(struct steps *steps, const uint16_t *rows, size_t count)
{
	double values[2 * BLOCK], centers[STEPS_MAX / BLOCK + 1], medians[STEPS_MAX / BLOCK + 1];
	size_t blocks = count < BLOCK ? 1 : count / BLOCK;
	for (size_t b = 0; b < blocks; b++) {
		size_t from = b * BLOCK, to = b + 1 == blocks ? count : from + BLOCK;
		for (size_t i = from; i < to; i++)
			values[i - from] = steps->step_s[rows[i]];
		medians[b] = median_of(values, to - from);
		centers[b] = (double)(from + to - 1) / 2;
	}
	for (size_t i = 0, b = 0; i < count; i++) {
		double at = (double)i;
		while (b + 1 < blocks && at >= centers[b + 1])
			b++;
		double share = b + 1 < blocks ? fmax((at - centers[b]) / (centers[b + 1] - centers[b]), 0) : 0;
		steps->base_s[rows[i]] = medians[b] + (share > 0 ? share * (medians[b + 1] - medians[b]) : 0);
	}
}

static double deviation_of(const struct steps *steps, const uint16_t *rows, size_t count, double *values)
{
	for (size_t i = 0; i < count; i++)
		values[i] = fabs(steps->step_s[rows[i]] / steps->base_s[rows[i]] - 1);
	return fmax(MAD_TO_DEVIATION * median_of(values, count), DEVIATION_MIN);
}

static void rate_kind(struct steps *steps, unsigned kind, uint16_t *rows, double *values)
{
	size_t count = 0;
	for (size_t row = 0; row < steps->count; row++)
		if (steps->kind[row] == kind)
			rows[count++] = (uint16_t)row;
	if (count == 0)
		return;
	set_bases(steps, rows, count);
	double deviation = deviation_of(steps, rows, count, values);
	for (size_t i = 0; i < count; i++) {
		size_t row = rows[i];
		double excess = steps->step_s[row] / steps->base_s[row] - 1;
		steps->is_slow[row] = excess > SLOW_RATIO && excess > SLOW_DEVIATIONS * deviation;
		steps->scores[row] = (float)fmax(fmin(excess / deviation, SCORE_MAX), -SCORE_MAX);
	}
}

/* Normalizes the scores of unexplained steps; explained ones get 0. */
static void center_scores(struct steps *steps)
{
	double sum = 0, squares = 0, count = 0;
	for (size_t row = 0; row < steps->count; row++) {
		if (steps->is_taken[row])
			continue;
		sum += (double)steps->scores[row];
		squares += (double)steps->scores[row] * (double)steps->scores[row];
		count++;
	}
	double mean = count > 0 ? sum / count : 0, variance = count > 0 ? squares / count - mean * mean : 0;
	double scale = variance > 0 ? 1 / sqrt(variance) : 0;
	steps->slow_count = 0;
	for (size_t row = 0; row < steps->count; row++) {
		steps->scores[row] = steps->is_taken[row] ? 0 : (float)(((double)steps->scores[row] - mean) * scale);
		steps->slow_count += steps->is_slow[row];
	}
}

bool steps_gather(struct steps *steps, const struct model *model, const struct run *run, const struct patterns *before)
{
	uint16_t rows[STEPS_MAX];
	double values[STEPS_MAX];
	steps->model = model;
	steps->run = run;
	steps->before = before;
	steps->track = run_main(run);
	steps->count = steps->epoch_count = 0;
	steps->restarts = false;
	steps->position_end = 0;
	gather_rows(steps);
	if (steps->count < STEPS_MIN)
		return false;
	memset(steps->is_slow, 0, steps->count * sizeof *steps->is_slow);
	memset(steps->is_member, 0, steps->count * sizeof *steps->is_member);
	memset(steps->is_taken, 0, steps->count * sizeof *steps->is_taken);
	gather_epochs(steps);
	for (unsigned kind = 0; kind < RUN_KINDS_MAX; kind++)
		rate_kind(steps, kind, rows, values);
	center_scores(steps);
	return true;
}

void steps_take_members(struct steps *steps)
{
	for (size_t row = 0; row < steps->count; row++) {
		steps->is_taken[row] |= steps->is_member[row];
		steps->is_slow[row] &= !steps->is_member[row];
		steps->is_member[row] = false;
	}
	center_scores(steps);
}

double steps_near(const struct steps *steps, size_t row)
{
	double values[2 * SIDE];
	size_t count = 0;
	for (size_t found = 0, back = 1; found < SIDE && back <= row && back <= 8 * SIDE; back++) {
		size_t other = row - back;
		if (!steps->is_member[other] && steps->kind[other] == steps->kind[row]) {
			values[count++] = steps->step_s[other];
			found++;
		}
	}
	for (size_t found = 0, ahead = 1; found < SIDE && row + ahead < steps->count && ahead <= 8 * SIDE; ahead++) {
		size_t other = row + ahead;
		if (!steps->is_member[other] && steps->kind[other] == steps->kind[row]) {
			values[count++] = steps->step_s[other];
			found++;
		}
	}
	return median_of(values, count);
}

/* -- divisors of a period -- */

static bool is_in(const struct steps *steps, enum clock_kind clock, uint32_t period, uint32_t remainder, size_t row)
{
	return !steps->is_taken[row] && steps_remainder(steps, clock, period, row) == remainder;
}

/* Median excess of the members over their neighbours. counts: members, and those with at least `above`. */
static double excess_of(const struct steps *steps, enum clock_kind clock, uint32_t period, uint32_t remainder,
	bool is_of_period, double above, size_t counts[2])
{
	double excess[STEPS_MAX];
	size_t count = 0;
	counts[1] = 0;
	for (size_t row = 0; row < steps->count; row++) {
		if (!steps->is_member[row] || is_in(steps, clock, period, remainder, row) != is_of_period)
			continue;
		double batch_window = steps_near(steps, row);
		if (isnan(batch_window))
			continue;
		excess[count] = steps->step_s[row] / batch_window - 1;
		counts[1] += excess[count++] >= above;
	}
	counts[0] = count;
	return median_of(excess, count);
}

uint32_t steps_part(struct steps *steps, enum clock_kind clock, uint32_t period, uint32_t remainder, uint32_t from)
{
	uint32_t found = period;
	for (uint32_t part = 2; part <= period / 2 && found == period; part++) {
		size_t counts[2];
		if (period % part)
			continue;
		for (size_t row = 0; row < steps->count; row++)
			steps->is_member[row] = steps->position[row] >= from && is_in(steps, clock, part, remainder % part, row);
		double baseline = excess_of(steps, clock, period, remainder, true, 0, counts);
		double added = excess_of(steps, clock, period, remainder, false, baseline / 2, counts);
		if (counts[0] >= ADDED_MIN && added >= PART_RATIO * baseline &&
			(double)counts[1] >= PART_HITS_RATIO * (double)counts[0])
			found = part;
	}
	memset(steps->is_member, 0, steps->count * sizeof *steps->is_member);
	return found;
}
