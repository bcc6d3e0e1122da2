/* A beat: slow batches at equal distances in time, or at roughly equal distances in batches. Walks back from the newest
 * one, starting with its distance to an earlier one; each match refines the distance. */
#include "src/explain/patterns/patterns_times.h"

#include <math.h>

#include "src/base/clock.h"
#include "src/explain/patterns/patterns_private.h"
#include "src/explain/patterns/patterns_steps.h"
#include "src/model/statistics/significance.h"
#include "src/model/statistics/statistics.h"

enum { BEATS_MAX = 64, PARTNERS_MAX = 8, ANCHORS = 8, BEATS_MIN = 5, SLIPS_MAX = 3, HOPELESS_AFTER = 6 };
#define BEAT_HITS_RATIO 0.8
#define BEAT_CHANCE_MAX (-9.2) /* ln 1e-4 */
/* Tolerance, in addition to one step, relative to the distance: for timers, and for less exact sources. */
static const double beat_slacks[] = { 0.005, 0.03 };
#define STEPS_BETWEEN_MIN 4
/* Hysteresis for a period that the previous search found. */
#define KNOWN_BONUS 6
#define KNOWN_HITS_RATIO 0.7
#define SAME_RATIO 0.02

/* A slow batch, or several consecutive ones. */
struct beat_event {
	size_t first_row, last_row;
	double at;
};

struct axis {
	enum pattern_unit unit;
	double step, now;
	const struct patterns *before;
	size_t count;
	struct beat_event events[BEATS_MAX];
};

struct beat {
	double period, chance, spread;
	size_t hits, expected;
	size_t matched[BEATS_MAX];
};

/* Events, newest first. */
static void gather_events(const struct steps *steps, enum pattern_unit unit, struct axis *axis)
{
	int64_t zero_ns = steps->batches[0]->begin_ns;
	*axis = (struct axis){ .unit = unit, .before = steps->before };
	for (size_t row = steps->count; row-- > 0;) {
		if (!steps->is_slow[row])
			continue;
		const struct batch *batch = steps->batches[row];
		double at = unit == PATTERN_BATCHES ? steps->position[row]
											: seconds_between(zero_ns, batch->begin_ns) + batch->step_s / 2;
		struct beat_event *newest = axis->count ? &axis->events[axis->count - 1] : NULL;
		if (newest && newest->first_row == row + 1) {
			newest->first_row = row;
			newest->at = at;
			continue;
		}
		if (axis->count == BEATS_MAX)
			break;
		axis->events[axis->count++] = (struct beat_event){ row, row, at };
	}
	size_t newest = steps->count - 1;
	axis->step = unit == PATTERN_BATCHES ? 1 : steps->base_s[newest];
	axis->now = unit == PATTERN_BATCHES
		? steps->position[newest]
		: seconds_between(zero_ns, steps->batches[newest]->begin_ns) + steps->step_s[newest];
}

/* The event nearest to `at`, within `slack`; axis->count if none. Events are sorted from newest to oldest. */
static size_t event_near(const struct axis *axis, size_t from, double at, double slack)
{
	size_t found = axis->count;
	for (size_t i = from; i < axis->count && axis->events[i].at >= at - slack; i++)
		if (fabs(axis->events[i].at - at) <= slack &&
			(found == axis->count || fabs(axis->events[i].at - at) < fabs(axis->events[found].at - at)))
			found = i;
	return found;
}

static double ln_choose(double n, double k) { return ln_gamma(n + 1) - ln_gamma(k + 1) - ln_gamma(n - k + 1); }

/* The chance of this beat: two events define the distance, so only the others count as hits. */
static void rate_beat(const struct axis *axis, double slack, struct beat *beat)
{
	const struct beat_event *anchor = &axis->events[beat->matched[0]];
	size_t last = beat->matched[beat->hits - 1], before = 0;
	double length = anchor->at - axis->events[last].at + beat->period;
	for (size_t i = 0; i < axis->count && axis->events[i].at >= axis->events[last].at; i++)
		before++;
	double by_chance = fmin((double)before / length * 2 * slack, 0.95),
		   tried = 2 * (double)axis->count * PARTNERS_MAX * (double)beat->expected;
	double free_hits = (double)beat->hits - 2, free_expected = (double)beat->expected - 2;
	beat->chance = ln_choose(free_expected, free_hits) + free_hits * log(by_chance) + log(tried);
}

/* The period by least squares, and the deviation of the events from it, relative to the period. */
static void fit(const struct axis *axis, const double *turns, struct beat *beat)
{
	double n = (double)beat->hits, mean_x = 0, mean_y = 0, xy = 0, xx = 0, squares = 0;
	for (size_t i = 0; i < beat->hits; i++) {
		mean_x += turns[i] / n;
		mean_y += axis->events[beat->matched[i]].at / n;
	}
	for (size_t i = 0; i < beat->hits; i++) {
		xy += (turns[i] - mean_x) * (axis->events[beat->matched[i]].at - mean_y);
		xx += (turns[i] - mean_x) * (turns[i] - mean_x);
	}
	beat->period = -xy / xx;
	for (size_t i = 0; i < beat->hits; i++) {
		double stray = axis->events[beat->matched[i]].at - mean_y + beat->period * (turns[i] - mean_x);
		squares += stray * stray;
	}
	beat->spread = sqrt(squares / n) / beat->period;
}

static bool was_known(const struct axis *axis, double period)
{
	for (size_t i = 0; i < axis->before->count; i++) {
		const struct pattern *pattern = &axis->before->list[i];
		if (pattern->kind == PATTERN_PERIOD && pattern->unit == axis->unit &&
			fabs(pattern->period - period) <= SAME_RATIO * period)
			return true;
	}
	return false;
}

static bool follow(const struct axis *axis, size_t anchor, size_t partner, double slack_ratio, struct beat *beat)
{
	double turns[BEATS_MAX] = { 0, 1 }, from = axis->events[anchor].at, period = from - axis->events[partner].at;
	double slack = axis->step + slack_ratio * period, last = axis->events[partner].at, since = 0, turn = 1;
	size_t next = partner + 1, slips = 0, expected = 2;
	*beat = (struct beat){ .hits = 2, .expected = 2, .matched = { anchor, partner } };
	if (period < STEPS_BETWEEN_MIN * axis->step || axis->now - from > 2 * period + slack)
		return false;
	size_t due = axis->now - from > period + slack;
	while (next < axis->count && slips < SLIPS_MAX) {
		since++;
		turn++;
		expected++;
		/* Predict from the last match: deviations accumulate. */
		size_t found = event_near(axis, next, last - since * period, slack * sqrt(since));
		if (found == axis->count) {
			slips++;
			if (expected > HOPELESS_AFTER && 2 * beat->hits < expected)
				return false;
			continue;
		}
		slips = 0;
		since = 0;
		last = axis->events[found].at;
		period = (from - last) / turn;
		turns[beat->hits] = turn;
		beat->matched[beat->hits++] = found;
		beat->expected = expected;
		next = found + 1;
	}
	beat->expected += due;
	bool is_known = was_known(axis, period);
	if (beat->hits < BEATS_MIN ||
		(double)beat->hits < (is_known ? KNOWN_HITS_RATIO : BEAT_HITS_RATIO) * (double)beat->expected)
		return false;
	fit(axis, turns, beat);
	rate_beat(axis, slack, beat);
	beat->chance -= is_known ? KNOWN_BONUS : 0;
	return beat->chance < BEAT_CHANCE_MAX;
}

static bool best_beat(const struct axis *axis, struct beat *best)
{
	enum { SLACKS = sizeof beat_slacks / sizeof *beat_slacks };
	bool is_found = false;
	for (size_t anchor = 0; anchor < ANCHORS && anchor < axis->count; anchor++) {
		for (size_t i = SLACKS; i < (PARTNERS_MAX + 1) * SLACKS && anchor + i / SLACKS < axis->count; i++) {
			struct beat beat;
			if (!follow(axis, anchor, anchor + i / SLACKS, beat_slacks[i % SLACKS], &beat) ||
				(is_found && beat.chance >= best->chance))
				continue;
			*best = beat;
			is_found = true;
		}
	}
	return is_found;
}

static void make_pattern(struct steps *steps, const struct axis *axis, const struct beat *beat, struct pattern *out)
{
	double these[BEATS_MAX], others[BEATS_MAX];
	size_t known = 0;
	*out = (struct pattern){ .kind = PATTERN_PERIOD, .unit = axis->unit, .count = beat->hits, .of = beat->expected };
	out->period = axis->unit == PATTERN_BATCHES ? round(beat->period) : beat->period;
	for (size_t i = 0; i < beat->hits; i++) {
		const struct beat_event *event = &axis->events[beat->matched[i]];
		for (size_t row = event->first_row; row <= event->last_row; row++)
			steps->is_member[row] = true;
		these[i] = steps->step_s[event->first_row];
	}
	for (size_t i = 0; i < beat->hits; i++) {
		double batch_window = steps_near(steps, axis->events[beat->matched[i]].first_row);
		if (isfinite(batch_window))
			others[known++] = batch_window;
	}
	out->first = steps->batches[axis->events[beat->matched[beat->hits - 1]].first_row]->ordinal;
	out->last = steps->batches[axis->events[beat->matched[0]].last_row]->ordinal;
	out->after_s = median_of(these, beat->hits);
	out->before_s = median_of(others, known);
}

bool find_beat(struct steps *steps, struct pattern *out)
{
	struct axis axes[2];
	struct beat beats[2];
	if (steps->slow_count < BEATS_MIN)
		return false;
	gather_events(steps, PATTERN_SECONDS, &axes[0]);
	gather_events(steps, PATTERN_BATCHES, &axes[1]);
	bool in_time = best_beat(&axes[0], &beats[0]), in_batches = best_beat(&axes[1], &beats[1]);
	if (!in_time && !in_batches)
		return false;
	unsigned which = !in_time || (in_batches && beats[1].hits >= beats[0].hits && beats[1].spread < beats[0].spread);
	make_pattern(steps, &axes[which], &beats[which], out);
	return true;
}
