#include "src/model/batch_window/clock_course.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/model/machine/readings.h"
#include "src/model/statistics/statistics.h"

enum { ROOM_FIRST = 32, USUAL_READINGS_LEAST = 4 };
#define KEPT_NS (READINGS_KEPT_S * NS_PER_S)
#define TOGETHER_NS (50 * NS_PER_MS)
#define USUAL_NS (60 * NS_PER_S)
#define USUAL_LEAST_NS (2 * NS_PER_S)
/* A reading stands no longer than this: then readings were missed. */
#define STANDS_NS (3 * NS_PER_S)
/* A clock that falls by less is no fall: drivers step it by 1 % all the time. */
#define FALL_LEAST_RATIO 0.05
/* Of two readings so near each other that nothing is likely to have come and gone between them. */
#define ENCLOSING_NS NS_PER_S
/* With less to do the clock falls by itself, and says nothing of what is usual at work. */
#define WORKING_RATIO 0.1
#define KNOWN_RATIO 0.5

static struct clock_reading *at(const struct clock_course *course, size_t i)
{
	size_t place = course->first + i;
	return &course->readings[place < course->room ? place : place - course->room];
}

void course_release(struct clock_course *course)
{
	free(course->readings);
	course->readings = NULL;
	course->room = course->first = course->count = 0;
}

static void drop_first(struct clock_course *course)
{
	course->first = (uint16_t)((course->first + 1u) % course->room);
	course->count--;
}

static bool make_room(struct clock_course *course)
{
	if (course->count < course->room)
		return true;
	size_t room = course->room ? course->room * 2u : ROOM_FIRST;
	struct clock_reading *readings = room <= COURSE_READINGS_MOST ? malloc(room * sizeof *readings) : NULL;
	if (readings) {
		for (size_t i = 0; i < course->count; i++)
			readings[i] = *at(course, i);
		free(course->readings);
		course->readings = readings;
		course->room = (uint16_t)room;
		course->first = 0;
		return true;
	}
	if (course->room == 0)
		return false;
	drop_first(course);
	return true;
}

struct clock_reading *course_reading(struct clock_course *course, int64_t time_ns)
{
	struct clock_reading *newest = course->count ? at(course, course->count - 1u) : NULL;
	if (newest && time_ns >= newest->time_ns && time_ns - newest->time_ns < TOGETHER_NS)
		return newest;
	if ((newest && time_ns < newest->time_ns) || !make_room(course))
		return NULL;
	*at(course, course->count++) =
		(struct clock_reading){ .time_ns = time_ns, .clock_hz = NAN, .busy_ratio = NAN, .held = COURSE_HELD_UNKNOWN };
	while (course->count > 1 && time_ns - at(course, 0)->time_ns > KEPT_NS)
		drop_first(course);
	return at(course, course->count - 1u);
}

/* How many stand before (`is_included`: or at) a time. */
static size_t readings_until(const struct clock_course *course, int64_t time_ns, bool is_included)
{
	size_t low = 0, high = course->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int64_t reading_ns = at(course, middle)->time_ns;
		if (reading_ns < time_ns || (is_included && reading_ns == time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has_clock(const struct clock_reading *reading) { return reading->clock_hz > 0; }

/* -- what is usual -- */

struct usual_clock {
	double hz, busy_ratio;
	uint32_t held;
};

/* False: less than 2 s of work is known before. */
static bool find_usual(const struct clock_course *course, int64_t before_ns, struct usual_clock *out)
{
	double clocks[COURSE_READINGS_MOST], busy_sum = 0;
	size_t count = 0, busy_count = 0, held[32] = { 0 };
	int64_t oldest_ns = before_ns;
	for (size_t i = readings_until(course, before_ns, false);
		 i-- > 0 && at(course, i)->time_ns > before_ns - USUAL_NS;) {
		const struct clock_reading *reading = at(course, i);
		if (!isnan(reading->busy_ratio)) {
			busy_sum += (double)reading->busy_ratio;
			busy_count++;
		}
		if (!has_clock(reading) || reading->busy_ratio < (float)WORKING_RATIO)
			continue;
		for (unsigned bit = 0; bit < 32 && reading->held != COURSE_HELD_UNKNOWN; bit++)
			held[bit] += reading->held >> bit & 1;
		clocks[count++] = (double)reading->clock_hz;
		oldest_ns = reading->time_ns;
	}
	if (count < USUAL_READINGS_LEAST || before_ns - oldest_ns < USUAL_LEAST_NS)
		return false;
	out->held = 0;
	for (unsigned bit = 0; bit < 32; bit++)
		out->held |= held[bit] * 2 > count ? UINT32_C(1) << bit : 0;
	out->hz = median_of(clocks, count);
	out->busy_ratio = busy_count ? busy_sum / (double)busy_count : NAN;
	return true;
}

/* -- a fall -- */

static bool is_held(const struct clock_reading *reading)
{
	return reading->held != COURSE_HELD_UNKNOWN && reading->held != 0;
}

static bool is_slow(const struct clock_reading *reading, double usual_hz)
{
	return has_clock(reading) && is_held(reading) && (double)reading->clock_hz <= (1 - FALL_LEAST_RATIO) * usual_hz;
}

/* The next reading with a clock from `i` on, in either direction; NULL: none. */
static const struct clock_reading *next_with_clock(const struct clock_course *course, size_t i, int step)
{
	while (i < course->count && !has_clock(at(course, i)))
		i += (size_t)(ptrdiff_t)step; /* below 0 it wraps, and ends the loop */
	return i < course->count ? at(course, i) : NULL;
}

struct slow {
	size_t readings, slow;
	double sum_hz;
	uint32_t held;
};

static void add_slow(struct slow *slow, const struct clock_reading *reading, double usual_hz)
{
	slow->readings++;
	if (!is_slow(reading, usual_hz))
		return;
	slow->slow++;
	slow->sum_hz += (double)reading->clock_hz;
	slow->held |= reading->held;
}

/* Where readings lie too far apart for the window, the two about it are asked: one in it may be a moment, so one of
 * them must agree; where none lies in it both must, and be near each other. Returns the share of the window in which it
 * was slow. */
static double ask_about(const struct clock_course *course, size_t first, size_t end, struct slow *slow, double usual_hz)
{
	const struct clock_reading *before = next_with_clock(course, first - 1, -1),
							   *after = next_with_clock(course, end, 1);
	bool was_slow = before && is_slow(before, usual_hz), is_slow_after = after && is_slow(after, usual_hz);
	if (slow->readings == 1)
		return slow->slow ? 0.5 * was_slow + 0.5 * is_slow_after : 0;
	if (!was_slow || !is_slow_after || after->time_ns - before->time_ns > ENCLOSING_NS)
		return 0;
	add_slow(slow, before, usual_hz);
	add_slow(slow, after, usual_hz);
	return 1;
}

bool course_fall(const struct clock_course *course, int64_t from_ns, int64_t to_ns, struct clock_fall *out)
{
	size_t first = readings_until(course, from_ns, false), end = readings_until(course, to_ns, true);
	struct usual_clock usual;
	struct slow slow = { .readings = 0 };
	if (!find_usual(course, from_ns, &usual))
		return false;
	for (size_t i = first; i < end; i++)
		if (has_clock(at(course, i)))
			add_slow(&slow, at(course, i), usual.hz);
	double part =
		slow.readings < 2 ? ask_about(course, first, end, &slow, usual.hz) : (double)slow.slow / (double)slow.readings;
	if (part <= 0)
		return false;
	*out = (struct clock_fall){ .clock_hz = slow.sum_hz / (double)slow.slow,
		.usual_hz = usual.hz,
		.part_ratio = part,
		.usual_busy_ratio = usual.busy_ratio,
		.held = slow.held & ~usual.held ? slow.held & ~usual.held : slow.held };
	return true;
}

/* -- for how long it was held back -- */

double course_held_ratio(
	const struct clock_course *course, uint32_t bits, int64_t from_ns, int64_t to_ns, double *clock_hz)
{
	double held_s = 0, known_s = 0, clocked_s = 0, sum = 0;
	for (size_t i = course->count; i-- > 0;) {
		const struct clock_reading *reading = at(course, i);
		int64_t end_ns = i + 1u < course->count ? at(course, i + 1)->time_ns : to_ns;
		if (end_ns <= from_ns)
			break;
		end_ns = end_ns < to_ns ? end_ns : to_ns;
		end_ns = end_ns < reading->time_ns + STANDS_NS ? end_ns : reading->time_ns + STANDS_NS;
		double seconds = seconds_between(reading->time_ns > from_ns ? reading->time_ns : from_ns, end_ns);
		if (seconds <= 0 || reading->held == COURSE_HELD_UNKNOWN)
			continue;
		bool is_held_so = reading->held & bits, is_clocked = is_held_so && has_clock(reading);
		known_s += seconds;
		held_s += is_held_so ? seconds : 0;
		clocked_s += is_clocked ? seconds : 0;
		sum += is_clocked ? seconds * (double)reading->clock_hz : 0;
	}
	if (clock_hz)
		*clock_hz = clocked_s > 0 ? sum / clocked_s : NAN;
	return known_s >= KNOWN_RATIO * seconds_between(from_ns, to_ns) ? held_s / known_s : NAN;
}
