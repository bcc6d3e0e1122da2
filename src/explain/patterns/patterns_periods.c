/* Every k-th batch: walks back from the newest slow batches. k is a period if nearly all batches at this distance are
 * slow, and that is unlikely by chance. */
#include "src/explain/patterns/patterns_periods.h"

#include <math.h>

#include "src/explain/patterns/patterns_private.h"
#include "src/explain/patterns/patterns_steps.h"
#include "src/model/statistics/significance.h"
#include "src/model/statistics/statistics.h"

enum { PERIOD_MAX = 2048, ANCHORS_MAX = 32, MISSES_MAX = 3, EPOCHS_MIN = 3 };
#define HITS_MIN_RATIO 0.8
/* A walk with a lower share of hits is abandoned. */
#define HOPELESS_RATIO 0.6
/* ln 5e-4: probability that steps without a period look like this, over all periods and starting points tried. */
#define CHANCE_MAX (-7.6)
/* Hysteresis for a period that the previous search found: a bonus on the logarithm of the chance, and a lower share of
 * hits. */
#define KNOWN_BONUS 6
#define KNOWN_HITS_RATIO 0.7

/* The step at each position. */
enum mark { MARK_FAST, MARK_SLOW, MARK_NONE };

struct walk {
	enum clock_kind clock;
	uint32_t period, first_position, last_position;
	size_t expected, hits;
	double chance;
	bool is_known;
};

struct cursor {
	uint32_t position;
	size_t epoch;
};

struct ground {
	uint8_t marks[STEPS_MAX];            /* by position */
	uint16_t slow_before[STEPS_MAX + 1]; /* by row */
};

static size_t epoch_of(const struct steps *steps, uint32_t position)
{
	size_t low = 0, high = steps->epoch_count;
	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;
		if (steps->epochs[middle].first_position <= position)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static uint32_t index_at(const struct span_of_epoch *epoch, uint32_t position)
{
	return epoch->first_index + (position - epoch->first_position);
}

/* Moves to the last position of an earlier epoch with the same remainder. */
static bool step_to_epoch_before(const struct steps *steps, uint32_t period, struct cursor *cursor)
{
	uint32_t remainder = index_at(&steps->epochs[cursor->epoch], cursor->position) % period;
	while (cursor->epoch > 0) {
		const struct span_of_epoch *epoch = &steps->epochs[--cursor->epoch];
		uint32_t last = index_at(epoch, epoch->last_position), back = (last % period + period - remainder) % period;
		if (back <= last - epoch->first_index) {
			cursor->position = epoch->last_position - back;
			return true;
		}
	}
	return false;
}

static bool step_back(const struct steps *steps, enum clock_kind clock, uint32_t period, struct cursor *cursor)
{
	uint32_t from = clock == CLOCK_RUN ? 0 : steps->epochs[cursor->epoch].first_position;
	if (cursor->position - from >= period) {
		cursor->position -= period;
		return true;
	}
	return clock == CLOCK_EPOCH && step_to_epoch_before(steps, period, cursor);
}

static uint32_t counted(uint32_t upto, uint32_t period, uint32_t remainder)
{
	return upto >= remainder ? (upto - remainder) / period + 1 : 0;
}

/* Number of batches of the period that were due after this position. */
static size_t due_since(const struct steps *steps, enum clock_kind clock, uint32_t period, uint32_t position)
{
	if (clock == CLOCK_RUN)
		return (steps->position_end - 1 - position) / period;
	size_t at = epoch_of(steps, position), due = 0;
	uint32_t remainder = index_at(&steps->epochs[at], position) % period;
	for (size_t i = at; i < steps->epoch_count && due < MISSES_MAX; i++) {
		const struct span_of_epoch *epoch = &steps->epochs[i];
		uint32_t from = i == at ? index_at(epoch, position) + 1 : epoch->first_index;
		due += counted(index_at(epoch, epoch->last_position), period, remainder) -
			(from > 0 ? counted(from - 1, period, remainder) : 0);
	}
	return due;
}

/* Logarithm of the chance that any such period appears in steps with this many slow ones. */
static double chance_of(
	const struct steps *steps, const uint16_t *slow_before, const struct walk *walk, size_t expected)
{
	uint32_t from = walk->first_position > walk->period ? walk->first_position - walk->period : 0;
	size_t first = 0;
	for (uint32_t position = from; position < steps->position_end; position++) {
		if (steps->row_at[position]) {
			first = (size_t)steps->row_at[position] - 1;
			break;
		}
	}
	size_t all = steps->count - first, slow = (size_t)(slow_before[steps->count] - slow_before[first]);
	double length = (double)all, m = (double)expected;
	double tried = (length * length / (2 * m * m) + 1) * m * (steps->restarts ? 2 : 1);
	return chance_of_hits(all, slow, expected, walk->hits) + log(tried);
}

static bool walk_back(const struct steps *steps, const struct ground *ground, struct cursor cursor, struct walk *out)
{
	uint32_t anchor = cursor.position;
	size_t expected = 1, hits = 1, misses = 0, due = SIZE_MAX;
	double min = out->is_known ? KNOWN_HITS_RATIO : HITS_MIN_RATIO;
	bool is_found = false;
	while (misses < MISSES_MAX && step_back(steps, out->clock, out->period, &cursor)) {
		enum mark mark = (enum mark)ground->marks[cursor.position];
		if (mark == MARK_NONE)
			continue;
		expected++;
		if (mark == MARK_FAST) {
			misses++;
			if (expected > OCCURRENCES_MIN && (double)hits < HOPELESS_RATIO * (double)expected)
				break;
			continue;
		}
		misses = 0;
		if (++hits < OCCURRENCES_MIN)
			continue;
		due = due == SIZE_MAX ? due_since(steps, out->clock, out->period, anchor) : due;
		if (due > (out->is_known ? 2 : 1))
			return false;
		if ((double)hits >= min * (double)(expected + due)) {
			is_found = true;
			out->first_position = cursor.position;
			out->hits = hits;
			out->expected = expected + due;
		}
	}
	out->last_position = anchor;
	if (is_found)
		out->chance = chance_of(steps, ground->slow_before, out, out->expected) - (out->is_known ? KNOWN_BONUS : 0);
	return is_found;
}

static double epoch_length(const struct steps *steps)
{
	double lengths[EPOCHS_SEEN_MAX];
	size_t count = 0;
	if (steps->run->epoch_length)
		return (double)steps->run->epoch_length;
	for (size_t i = 1; i < steps->epoch_count; i++)
		lengths[count++] = (double)(steps->epochs[i].first_position - steps->epochs[i - 1].first_position);
	return round(median_of(lengths, count));
}

/* What is slow once in each epoch fits many periods. */
static void note_once(const struct steps *steps, uint32_t remainder, struct pattern *out)
{
	double length = epoch_length(steps);
	bool is_once = out->is_by_index && length > remainder;
	for (size_t i = 0; i < steps->epoch_count && is_once; i++)
		is_once = index_at(&steps->epochs[i], steps->epochs[i].last_position) < remainder + out->period;
	if (!is_once)
		return;
	out->is_once = true;
	out->once_index = remainder;
	out->period = length;
}

/* -- making the pattern -- */

/* Call after marking the members. */
static void measure_members(const struct steps *steps, struct pattern *out)
{
	double these[STEPS_MAX], others[STEPS_MAX];
	size_t count = 0, known = 0;
	for (size_t row = 0; row < steps->count; row++) {
		if (!steps->is_member[row])
			continue;
		double batch_window = steps_near(steps, row);
		these[count++] = steps->step_s[row];
		if (isfinite(batch_window))
			others[known++] = batch_window;
		out->last = steps->batches[row]->ordinal;
		out->first = count == 1 ? out->last : out->first;
	}
	out->after_s = median_of(these, count);
	out->before_s = median_of(others, known);
}

/* Counts members with at least half the median excess, if not all of them are flagged as slow themselves. */
static void count_members(const struct steps *steps, struct pattern *out)
{
	out->count = out->of = 0;
	for (size_t row = 0; row < steps->count; row++) {
		double batch_window = steps->is_member[row] ? steps_near(steps, row) : NAN;
		out->of += isfinite(batch_window) ? 1 : 0;
		out->count += steps->step_s[row] - batch_window >= (out->after_s - out->before_s) / 2 ? 1 : 0;
	}
}

static void make_pattern(struct steps *steps, const struct walk *walk, struct pattern *out)
{
	size_t anchor = (size_t)steps->row_at[walk->last_position] - 1;
	uint32_t remainder = steps_remainder(steps, walk->clock, walk->period, anchor);
	*out = (struct pattern){ .kind = PATTERN_PERIOD,
		.unit = PATTERN_BATCHES,
		.period = walk->period,
		.count = walk->hits,
		.of = walk->expected,
		.is_by_index = walk->clock == CLOCK_EPOCH };
	for (size_t row = 0; row < steps->count; row++)
		steps->is_member[row] = steps->position[row] >= walk->first_position && !steps->is_taken[row] &&
			steps_remainder(steps, walk->clock, walk->period, row) == remainder;
	measure_members(steps, out);
}

static void init_ground(const struct steps *steps, struct ground *ground)
{
	ground->slow_before[0] = 0;
	for (size_t row = 0; row < steps->count; row++)
		ground->slow_before[row + 1] = (uint16_t)(ground->slow_before[row] + steps->is_slow[row]);
	for (uint32_t position = 0; position < steps->position_end; position++) {
		uint16_t row = steps->row_at[position];
		ground->marks[position] = row == 0 || steps->is_taken[row - 1] ? MARK_NONE
			: steps->is_slow[row - 1]                                  ? MARK_SLOW
																	   : MARK_FAST;
	}
}

/* Whether the first MISSES_MAX positions are misses. This rejects most of the thousands of walks cheaply. */
static bool is_hopeless(const uint8_t marks[STEPS_MAX], uint32_t from, uint32_t anchor, uint32_t period)
{
	_Static_assert(MISSES_MAX == 3 && MARK_FAST == 0, "the check covers MISSES_MAX positions");
	if (anchor < from + 3 * period)
		return from == 0;
	return (marks[anchor - period] | marks[anchor - 2 * period] | marks[anchor - 3 * period]) == 0;
}

static size_t newest_slow(const struct steps *steps, uint32_t positions[ANCHORS_MAX])
{
	size_t count = 0;
	for (size_t row = steps->count; row-- > 0 && count < ANCHORS_MAX;)
		if (steps->is_slow[row])
			positions[count++] = steps->position[row];
	return count;
}

static uint32_t longest_period(const struct steps *steps, enum clock_kind clock)
{
	uint32_t max = steps->position_end / (OCCURRENCES_MIN - 1), longest = 0;
	for (size_t i = 0; clock == CLOCK_EPOCH && i < steps->epoch_count; i++) {
		uint32_t length = steps->epochs[i].last_position - steps->epochs[i].first_position;
		longest = length > longest ? length : longest;
	}
	max = clock == CLOCK_EPOCH && longest < max ? longest : max;
	return max < PERIOD_MAX ? max : PERIOD_MAX;
}

bool find_comb(struct steps *steps, struct pattern *out)
{
	struct ground ground;
	uint32_t anchors[ANCHORS_MAX];
	struct walk best = { .chance = CHANCE_MAX };
	if (steps->slow_count < OCCURRENCES_MIN)
		return false;
	size_t anchor_count = newest_slow(steps, anchors);
	init_ground(steps, &ground);
	for (unsigned clock = CLOCK_RUN; clock < (steps->restarts ? CLOCKS : CLOCK_EPOCH); clock++) {
		uint32_t max = longest_period(steps, clock), from[ANCHORS_MAX];
		struct cursor cursors[ANCHORS_MAX];
		for (size_t i = 0; i < anchor_count; i++) {
			cursors[i] = (struct cursor){ anchors[i], clock == CLOCK_RUN ? 0 : epoch_of(steps, anchors[i]) };
			from[i] = clock == CLOCK_RUN ? 0 : steps->epochs[cursors[i].epoch].first_position;
		}
		for (uint32_t period = 2; period <= max; period++) {
			bool is_known = steps_knew(steps, period);
			for (size_t i = 0; i < anchor_count; i++) {
				if (is_hopeless(ground.marks, from[i], anchors[i], period))
					continue;
				struct walk walk = { .clock = clock, .period = period, .is_known = is_known };
				if (walk_back(steps, &ground, cursors[i], &walk) && walk.chance < best.chance)
					best = walk;
			}
		}
	}
	if (best.period == 0)
		return false;
	uint32_t remainder = steps_remainder(steps, best.clock, best.period, (size_t)steps->row_at[best.last_position] - 1),
			 whole = best.period;
	best.period = steps_part(steps, best.clock, best.period, remainder, best.first_position);
	make_pattern(steps, &best, out);
	if (best.period != whole)
		count_members(steps, out);
	note_once(steps, remainder % best.period, out);
	return true;
}

/* -- each epoch's first batch -- */

static bool is_epoch_first(const struct steps *steps, size_t i)
{
	uint16_t row = steps->row_at[steps->epochs[i].first_position];
	const struct batch *batch = steps->batches[row - 1], *before = row > 1 ? steps->batches[row - 2] : NULL;
	return batch->index == 0 ||
		(before && before->ordinal + 1 == batch->ordinal && before->epoch_ordinal != batch->epoch_ordinal);
}

bool find_epoch_first(struct steps *steps, struct pattern *out)
{
	size_t expected = 0, hits = 0, first = 0, best_expected = 0, best_hits = 0, misses = 0;
	for (size_t i = steps->epoch_count; i-- > 0 && misses < MISSES_MAX;) {
		if (!is_epoch_first(steps, i))
			continue;
		bool is_slow = steps->is_slow[steps->row_at[steps->epochs[i].first_position] - 1];
		expected++;
		hits += is_slow;
		misses = is_slow ? 0 : misses + 1;
		if (is_slow && (double)hits >= HITS_MIN_RATIO * (double)expected) {
			first = i;
			best_expected = expected;
			best_hits = hits;
		}
	}
	if (best_hits < EPOCHS_MIN)
		return false;
	size_t from = (size_t)steps->row_at[steps->epochs[first].first_position] - 1, slow = 0;
	for (size_t row = from; row < steps->count; row++)
		slow += steps->is_slow[row];
	if (chance_of_hits(steps->count - from, slow, best_expected, best_hits) + log((double)best_expected) > CHANCE_MAX)
		return false;
	*out = (struct pattern){ .kind = PATTERN_PERIOD,
		.unit = PATTERN_BATCHES,
		.period = epoch_length(steps),
		.count = best_hits,
		.of = best_expected,
		.is_epoch_first = true };
	for (size_t i = first; i < steps->epoch_count; i++)
		if (is_epoch_first(steps, i))
			steps->is_member[steps->row_at[steps->epochs[i].first_position] - 1] = true;
	measure_members(steps, out);
	return true;
}
