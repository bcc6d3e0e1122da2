#include "src/model/machine/readings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"

enum { ROOM_FIRST = 16, NS_PER_US = 1000 };
#define RETAINED_US ((uint32_t)READINGS_RETAINED_S * 1000000)
#define BASELINE_NS (60 * NS_PER_S)
#define BASELINE_MIN_S 2.0

/* Microseconds modulo 2^32, to save memory: only the distance from the latest reading is used, which is small. */
struct reading {
	uint32_t time_us;
	float growth;
};

static struct reading *row(const struct readings *readings, size_t i)
{
	size_t at = readings->first + i;
	return &readings->rows[at < readings->room ? at : at - readings->room];
}

static int64_t time_of(const struct readings *readings, size_t i)
{
	uint32_t age_us = row(readings, readings->count - 1u)->time_us - row(readings, i)->time_us;
	return readings->last_ns - (int64_t)age_us * NS_PER_US;
}

void readings_release(struct readings *readings)
{
	free(readings->rows);
	*readings = (struct readings){ 0 };
}

static void drop_first(struct readings *readings)
{
	readings->first = (uint16_t)((readings->first + 1u) % readings->room);
	readings->count--;
	readings->is_whole = false;
}

static bool make_room(struct readings *readings)
{
	if (readings->count < readings->room)
		return true;
	size_t room = readings->room ? readings->room * 2u : ROOM_FIRST;
	struct reading *rows = room <= READINGS_MAX ? malloc(room * sizeof *rows) : NULL;
	if (rows) {
		for (size_t i = 0; i < readings->count; i++)
			rows[i] = *row(readings, i);
		free(readings->rows);
		readings->rows = rows;
		readings->room = (uint16_t)room;
		readings->first = 0;
		return true;
	}
	if (readings->room == 0)
		return false;
	drop_first(readings);
	return true;
}

/* The oldest row marks the beginning of the next row's interval. If that row has no growth, the beginning can be moved
 * forward instead of dropping it. */
static void drop_old(struct readings *readings, uint32_t now_us)
{
	while (readings->count > 1 && now_us - row(readings, 0)->time_us > RETAINED_US) {
		if (row(readings, 1)->growth == 0 && now_us - row(readings, 1)->time_us <= RETAINED_US) {
			*row(readings, 0) = (struct reading){ now_us - RETAINED_US, NAN };
			readings->is_whole = false;
			return;
		}
		drop_first(readings);
	}
}

void readings_begin(struct readings *readings, int64_t time_ns)
{
	readings_push(readings, time_ns, NAN);
	readings->is_whole = readings->count == 1;
}

void readings_push(struct readings *readings, int64_t time_ns, double growth)
{
	uint32_t now_us = (uint32_t)((uint64_t)time_ns / NS_PER_US);
	if (readings->count && time_ns <= readings->last_ns)
		return;
	if (readings->count && time_ns - readings->last_ns > READINGS_RETAINED_S * NS_PER_S) {
		readings->count = 0;
		readings->is_whole = false;
		growth = NAN;
	}
	if (readings->count && growth == 0 && row(readings, readings->count - 1u)->growth == 0) {
		row(readings, readings->count - 1u)->time_us = now_us;
	} else {
		if (!make_room(readings))
			return;
		*row(readings, readings->count++) = (struct reading){ now_us, (float)growth };
	}
	readings->last_ns = time_ns;
	drop_old(readings, now_us);
}

/* The number of rows before (`is_included`: or at) a time. */
static size_t rows_until(const struct readings *readings, int64_t time_ns, bool is_included)
{
	size_t low = 0, high = readings->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int64_t row_ns = time_of(readings, middle);
		if (row_ns < time_ns || (is_included && row_ns == time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void readings_bounds(const struct readings *readings, int64_t from_ns, int64_t to_ns, double *min, double *max)
{
	/* `before`, `last`: number of rows up to each end of the window; `first`, `after`: index of the first row at or
	 * after it. */
	size_t before = rows_until(readings, from_ns, true), first = rows_until(readings, from_ns, false);
	size_t last = rows_until(readings, to_ns, true), after = rows_until(readings, to_ns, false);
	*min = 0;
	for (size_t i = first + 1; i < last; i++)
		if (!isnan(row(readings, i)->growth))
			*min += (double)row(readings, i)->growth;
	*max = NAN;
	if (before == 0 && readings->is_whole)
		before = 1;
	if (before == 0 || after == readings->count)
		return;
	*max = 0;
	for (size_t i = before; i <= after; i++)
		*max += (double)row(readings, i)->growth;
}

double readings_estimate(const struct readings *readings, int64_t from_ns, int64_t to_ns)
{
	double sum = 0;
	for (size_t i = readings->count; i-- > 1;) {
		int64_t begin_ns = time_of(readings, i - 1), end_ns = time_of(readings, i);
		if (end_ns <= from_ns)
			break;
		double growth = (double)row(readings, i)->growth, whole = (double)(end_ns - begin_ns);
		double part = (double)((end_ns < to_ns ? end_ns : to_ns) - (begin_ns > from_ns ? begin_ns : from_ns));
		if (!isnan(growth) && part > 0 && whole > 0)
			sum += growth * part / whole;
	}
	return sum;
}

bool readings_grew_after(const struct readings *readings, int64_t from_ns, int64_t to_ns)
{
	for (size_t i = rows_until(readings, from_ns, false); i + 1 < readings->count && time_of(readings, i) <= to_ns; i++)
		if (row(readings, i + 1)->growth > 0)
			return true;
	return false;
}

size_t readings_within(const struct readings *readings, int64_t from_ns, int64_t to_ns)
{
	size_t first = rows_until(readings, from_ns, false), end = rows_until(readings, to_ns, true);
	return end > first ? end - first : 0;
}

struct weighted {
	double rate, weight_s;
};

/* The weighted median by quickselect; reorders the rows. */
static double weighted_median(struct weighted *rows, size_t count, double half_s)
{
	size_t low = 0, end = count;
	double before_s = 0;
	while (low < end) {
		double pivot = rows[low + (end - low) / 2].rate, less_s = 0, same_s = 0;
		size_t less = low, more = end;
		for (size_t i = low; i < more;) {
			struct weighted row = rows[i];
			if (row.rate < pivot) {
				rows[i++] = rows[less];
				rows[less++] = row;
				less_s += row.weight_s;
			} else if (row.rate > pivot) {
				rows[i] = rows[--more];
				rows[more] = row;
			} else {
				same_s += row.weight_s;
				i++;
			}
		}
		if (less > low && before_s + less_s >= half_s) {
			end = less;
		} else if (before_s + less_s + same_s >= half_s || more == end) {
			return pivot;
		} else {
			before_s += less_s + same_s;
			low = more;
		}
	}
	return NAN;
}

double readings_baseline(const struct readings *readings, int64_t before_ns)
{
	struct weighted rows[READINGS_MAX];
	size_t count = 0, last = rows_until(readings, before_ns, true),
		   end = last < readings->count ? last + 1 : readings->count;
	int64_t begin_ns = end > 0 ? time_of(readings, end - 1) : 0;
	double total_s = 0;
	for (size_t i = end; i-- > 1;) {
		int64_t end_ns = begin_ns;
		begin_ns = time_of(readings, i - 1);
		double whole_s = seconds_between(begin_ns, end_ns);
		if (end_ns <= before_ns - BASELINE_NS)
			break;
		int64_t from_ns = begin_ns > before_ns - BASELINE_NS ? begin_ns : before_ns - BASELINE_NS,
				to_ns = end_ns < before_ns ? end_ns : before_ns;
		double growth = (double)row(readings, i)->growth, weight_s = seconds_between(from_ns, to_ns);
		/* The row that extends into the window is used only if it has no growth: else its growth may belong to the
		 * window. */
		bool reaches_in = i == last && growth != 0;
		if (isnan(growth) || reaches_in || weight_s <= 0)
			continue;
		rows[count++] = (struct weighted){ growth / whole_s, weight_s };
		total_s += weight_s;
	}
	return total_s < BASELINE_MIN_S ? NAN : weighted_median(rows, count, total_s / 2);
}

int64_t readings_first_ns(const struct readings *readings) { return readings->count ? time_of(readings, 0) : 0; }
