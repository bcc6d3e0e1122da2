#include "src/explain/patterns/patterns_next.h"

#include <math.h>

#include "src/model/run/steps/tracks.h"

/* A period in seconds is found to within a few per cent, and steps vary. */
#define SPREAD_RATIO 0.05

static const struct batch *newest_batch(const struct track *track)
{
	const struct batch *batch = NULL;
	for (uint64_t ordinal = track->end; ordinal > track->first && !batch; ordinal--)
		batch = track_batch(track, ordinal - 1);
	return batch;
}

/* Batches of an epoch; 0 = unknown. */
static uint64_t epoch_length(const struct run *run, const struct pattern *pattern)
{
	return pattern->is_epoch_first && pattern->period >= 1 ? (uint64_t)llround(pattern->period) : run->epoch_length;
}

static double seconds_between(const struct batch *from, const struct batch *to)
{
	return (double)(to->begin_ns - from->begin_ns) / 1e9;
}

bool pattern_has(const struct pattern *pattern, const struct run *run, const struct batch *batch)
{
	const struct batch *member = track_batch(run_main(run), pattern->last);
	if (pattern->kind == PATTERN_DRIFT)
		return batch->ordinal >= pattern->first;
	if (pattern->kind == PATTERN_KINDS)
		return batch_pace_s(batch) > (pattern->before_s + pattern->after_s) / 2;
	if (!member || !(pattern->period > 0))
		return false;
	if (pattern->is_epoch_first)
		return batch->index == member->index;
	if (pattern->unit == PATTERN_SECONDS) {
		double periods = fabs(seconds_between(member, batch)) / pattern->period;
		return fabs(periods - round(periods)) <= 2 * SPREAD_RATIO;
	}
	uint64_t period = (uint64_t)llround(pattern->period);
	if (pattern->is_by_index)
		return batch->index % period == member->index % period;
	return batch->ordinal % period == member->ordinal % period;
}

/* -- the next one -- */

static void next_in_time(const struct pattern *pattern, const struct batch *member, struct pattern_next *out)
{
	double passed_s = (double)(out->from_ns - member->begin_ns) / 1e9;
	double left_s = pattern->period - fmod(fmax(passed_s, 0), pattern->period);
	out->ahead = (uint64_t)fmax(1, ceil(left_s / out->step_s));
	out->every = (uint64_t)fmax(1, round(pattern->period / out->step_s));
	out->spread = 1 + (uint64_t)(SPREAD_RATIO * (double)(out->ahead > out->every ? out->ahead : out->every));
}

static void next_in_epoch(const struct pattern *pattern, const struct run *run, const struct batch *member,
	const struct batch *newest, struct pattern_next *out)
{
	uint64_t length = epoch_length(run, pattern), index = newest->index;
	uint64_t period = pattern->is_epoch_first && length ? length : (uint64_t)llround(pattern->period);
	uint64_t remainder = member->index % period, back = (index + period - remainder) % period;
	out->every = period;
	out->ahead = period - back;
	if (length > index && index + out->ahead >= length)
		out->ahead = length - index + remainder;
}

bool pattern_find_next(const struct pattern *pattern, const struct run *run, struct pattern_next *out)
{
	const struct track *track = run_main(run);
	const struct batch *member = track_batch(track, pattern->last), *newest = newest_batch(track);
	double step_s = track->recent.mean_s;
	if (pattern->kind != PATTERN_PERIOD || !member || !newest || !(pattern->period > 0) || !(step_s > 0))
		return false;
	*out = (struct pattern_next){ .ordinal = newest->ordinal, .from_ns = newest->begin_ns, .step_s = step_s };
	if (pattern->unit == PATTERN_SECONDS) {
		next_in_time(pattern, member, out);
	} else if (pattern->is_by_index || pattern->is_epoch_first) {
		next_in_epoch(pattern, run, member, newest, out);
	} else {
		out->every = (uint64_t)llround(pattern->period);
		out->ahead = out->every - (newest->ordinal - member->ordinal) % out->every;
	}
	out->number = newest->number + out->ahead;
	return true;
}
