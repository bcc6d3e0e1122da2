#include "src/model/batch_window/clock_history.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/model/machine/readings.h"
#include "src/model/statistics/statistics.h"

enum { ROOM_FIRST = 32, BASELINE_READINGS_MIN = 4 };
#define RETAINED_NS (READINGS_RETAINED_S * NS_PER_S)
#define TOGETHER_NS (50 * NS_PER_MS)
#define BASELINE_NS (60 * NS_PER_S)
#define BASELINE_MIN_NS (2 * NS_PER_S)
/* A reading holds no longer than this: a longer pause means that readings were missed. */
#define STANDS_NS (3 * NS_PER_S)
/* The minimum drop: drivers change the clock by 1 % all the time. */
#define FALL_MIN_RATIO 0.05
/* Maximum distance of two readings between which a short change is unlikely. */
#define ENCLOSING_NS NS_PER_S
/* With less load the clock drops by itself, so the reading does not count for the baseline. */
#define WORKING_RATIO 0.1
#define KNOWN_RATIO 0.5

static struct clock_reading *at(const struct clock_history *history, size_t i)
{
	size_t at = history->first + i;
	return &history->readings[at < history->room ? at : at - history->room];
}

void clock_history_release(struct clock_history *history)
{
	free(history->readings);
	history->readings = NULL;
	history->room = history->first = history->count = 0;
}

static void drop_first(struct clock_history *history)
{
	history->first = (uint16_t)((history->first + 1u) % history->room);
	history->count--;
}

static bool make_room(struct clock_history *history)
{
	if (history->count < history->room)
		return true;
	size_t room = history->room ? history->room * 2u : ROOM_FIRST;
	struct clock_reading *readings = room <= CLOCK_HISTORY_READINGS_MAX ? malloc(room * sizeof *readings) : NULL;
	if (readings) {
		for (size_t i = 0; i < history->count; i++)
			readings[i] = *at(history, i);
		free(history->readings);
		history->readings = readings;
		history->room = (uint16_t)room;
		history->first = 0;
		return true;
	}
	if (history->room == 0)
		return false;
	drop_first(history);
	return true;
}

struct clock_reading *clock_history_reading(struct clock_history *history, int64_t time_ns)
{
	struct clock_reading *newest = history->count ? at(history, history->count - 1u) : NULL;
	if (newest && time_ns >= newest->time_ns && time_ns - newest->time_ns < TOGETHER_NS)
		return newest;
	if ((newest && time_ns < newest->time_ns) || !make_room(history))
		return NULL;
	*at(history, history->count++) = (struct clock_reading){
		.time_ns = time_ns, .clock_hz = NAN, .busy_ratio = NAN, .throttled = CLOCK_HISTORY_THROTTLED_UNKNOWN
	};
	while (history->count > 1 && time_ns - at(history, 0)->time_ns > RETAINED_NS)
		drop_first(history);
	return at(history, history->count - 1u);
}

/* The number of readings before (`is_included`: or at) a time. */
static size_t readings_until(const struct clock_history *history, int64_t time_ns, bool is_included)
{
	size_t low = 0, high = history->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int64_t reading_ns = at(history, middle)->time_ns;
		if (reading_ns < time_ns || (is_included && reading_ns == time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has_clock(const struct clock_reading *reading) { return reading->clock_hz > 0; }

/* -- baseline -- */

struct baseline_clock {
	double hz, busy_ratio;
	uint32_t throttled;
};

/* False: less than 2 s under load are known. */
static bool find_baseline(const struct clock_history *history, int64_t before_ns, struct baseline_clock *out)
{
	double clocks[CLOCK_HISTORY_READINGS_MAX], busy_sum = 0;
	size_t count = 0, busy_count = 0, throttled[32] = { 0 };
	int64_t oldest_ns = before_ns;
	for (size_t i = readings_until(history, before_ns, false);
		 i-- > 0 && at(history, i)->time_ns > before_ns - BASELINE_NS;) {
		const struct clock_reading *reading = at(history, i);
		if (!isnan(reading->busy_ratio)) {
			busy_sum += (double)reading->busy_ratio;
			busy_count++;
		}
		if (!has_clock(reading) || reading->busy_ratio < (float)WORKING_RATIO)
			continue;
		for (unsigned bit = 0; bit < 32 && reading->throttled != CLOCK_HISTORY_THROTTLED_UNKNOWN; bit++)
			throttled[bit] += reading->throttled >> bit & 1;
		clocks[count++] = (double)reading->clock_hz;
		oldest_ns = reading->time_ns;
	}
	if (count < BASELINE_READINGS_MIN || before_ns - oldest_ns < BASELINE_MIN_NS)
		return false;
	out->throttled = 0;
	for (unsigned bit = 0; bit < 32; bit++)
		out->throttled |= throttled[bit] * 2 > count ? UINT32_C(1) << bit : 0;
	out->hz = median_of(clocks, count);
	out->busy_ratio = busy_count ? busy_sum / (double)busy_count : NAN;
	return true;
}

/* -- drops -- */

static bool is_throttled(const struct clock_reading *reading)
{
	return reading->throttled != CLOCK_HISTORY_THROTTLED_UNKNOWN && reading->throttled != 0;
}

static bool is_slow(const struct clock_reading *reading, double baseline_hz)
{
	return has_clock(reading) && is_throttled(reading) &&
		(double)reading->clock_hz <= (1 - FALL_MIN_RATIO) * baseline_hz;
}

/* The next reading with a clock from `i` on, in either direction; NULL: none. */
static const struct clock_reading *next_with_clock(const struct clock_history *history, size_t i, int step)
{
	while (i < history->count && !has_clock(at(history, i)))
		i += (size_t)(ptrdiff_t)step; /* below 0 it wraps around, which ends the loop */
	return i < history->count ? at(history, i) : NULL;
}

struct slow {
	size_t readings, slow;
	double sum_hz;
	uint32_t throttled;
};

static void add_slow(struct slow *slow, const struct clock_reading *reading, double baseline_hz)
{
	slow->readings++;
	if (!is_slow(reading, baseline_hz))
		return;
	slow->slow++;
	slow->sum_hz += (double)reading->clock_hz;
	slow->throttled |= reading->throttled;
}

/* For windows with fewer than two readings, uses the readings before and after. A single reading inside may be a short
 * dip, so one of the two must agree; without any inside, both must agree and be close to each other. Returns the share
 * of the window in which the clock was slow. */
static double slow_ratio_nearby(
	const struct clock_history *history, size_t first, size_t end, struct slow *slow, double baseline_hz)
{
	const struct clock_reading *before = next_with_clock(history, first - 1, -1),
							   *after = next_with_clock(history, end, 1);
	bool was_slow = before && is_slow(before, baseline_hz), is_slow_after = after && is_slow(after, baseline_hz);
	if (slow->readings == 1)
		return slow->slow ? 0.5 * was_slow + 0.5 * is_slow_after : 0;
	if (!was_slow || !is_slow_after || after->time_ns - before->time_ns > ENCLOSING_NS)
		return 0;
	add_slow(slow, before, baseline_hz);
	add_slow(slow, after, baseline_hz);
	return 1;
}

bool clock_history_fall(const struct clock_history *history, int64_t from_ns, int64_t to_ns, struct clock_fall *out)
{
	size_t first = readings_until(history, from_ns, false), end = readings_until(history, to_ns, true);
	struct baseline_clock baseline;
	struct slow slow = { .readings = 0 };
	if (!find_baseline(history, from_ns, &baseline))
		return false;
	for (size_t i = first; i < end; i++)
		if (has_clock(at(history, i)))
			add_slow(&slow, at(history, i), baseline.hz);
	double part = slow.readings < 2 ? slow_ratio_nearby(history, first, end, &slow, baseline.hz)
									: (double)slow.slow / (double)slow.readings;
	if (part <= 0)
		return false;
	*out = (struct clock_fall){ .clock_hz = slow.sum_hz / (double)slow.slow,
		.baseline_hz = baseline.hz,
		.part_ratio = part,
		.baseline_busy_ratio = baseline.busy_ratio,
		.throttled = slow.throttled & ~baseline.throttled ? slow.throttled & ~baseline.throttled : slow.throttled };
	return true;
}

/* -- throttled time -- */

double clock_history_throttled_ratio(
	const struct clock_history *history, uint32_t bits, int64_t from_ns, int64_t to_ns, double *clock_hz)
{
	double throttled_s = 0, known_s = 0, clocked_s = 0, sum = 0;
	for (size_t i = history->count; i-- > 0;) {
		const struct clock_reading *reading = at(history, i);
		int64_t end_ns = i + 1u < history->count ? at(history, i + 1)->time_ns : to_ns;
		if (end_ns <= from_ns)
			break;
		end_ns = end_ns < to_ns ? end_ns : to_ns;
		end_ns = end_ns < reading->time_ns + STANDS_NS ? end_ns : reading->time_ns + STANDS_NS;
		double seconds = seconds_between(reading->time_ns > from_ns ? reading->time_ns : from_ns, end_ns);
		if (seconds <= 0 || reading->throttled == CLOCK_HISTORY_THROTTLED_UNKNOWN)
			continue;
		bool is_throttled_so = reading->throttled & bits, is_clocked = is_throttled_so && has_clock(reading);
		known_s += seconds;
		throttled_s += is_throttled_so ? seconds : 0;
		clocked_s += is_clocked ? seconds : 0;
		sum += is_clocked ? seconds * (double)reading->clock_hz : 0;
	}
	if (clock_hz)
		*clock_hz = clocked_s > 0 ? sum / clocked_s : NAN;
	return known_s >= KNOWN_RATIO * seconds_between(from_ns, to_ns) ? throttled_s / known_s : NAN;
}
