#include "src/model/energy/energy_curve.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/clock.h"

enum { ROOM_FIRST = 32 };
#define DENSE_NS (10 * NS_PER_S)

/* Totals since the first point. */
struct curve_point {
	int64_t time_ns, unknown_ns;
	double joules;
};

void energy_curve_release(struct energy_curve *curve)
{
	free(curve->points);
	*curve = (struct energy_curve){ .count = 0 };
}

/* Drops every other point of the older half, but not the first. */
static void drop_old_points(struct energy_curve *curve)
{
	size_t half = curve->count / 2, retained = 0;
	for (size_t i = 0; i < curve->count; i++)
		if (i >= half || i % 2 == 0)
			curve->points[retained++] = curve->points[i];
	curve->count = retained;
}

static bool make_room(struct energy_curve *curve)
{
	if (curve->count < curve->room)
		return true;
	size_t room = curve->room ? curve->room * 2 : ROOM_FIRST;
	struct curve_point *points = room <= CURVE_POINTS_MAX ? realloc(curve->points, room * sizeof *points) : NULL;
	if (points) {
		curve->points = points;
		curve->room = room;
		return true;
	}
	if (curve->count < ROOM_FIRST)
		return false;
	drop_old_points(curve);
	return true;
}

bool energy_curve_is_dense(const struct energy_curve *curve, int64_t time_ns)
{
	int64_t interval_ns = time_ns - curve->last_ns;
	return curve->count > 0 && (interval_ns <= DENSE_NS || interval_ns / 2 <= curve->interval_ns);
}

void energy_curve_push(struct energy_curve *curve, int64_t time_ns, double growth)
{
	if (time_ns <= curve->last_ns || !make_room(curve))
		return;
	if (curve->count > 0) {
		curve->joules += isnan(growth) ? 0 : growth;
		curve->unknown_ns += isnan(growth) || !energy_curve_is_dense(curve, time_ns) ? time_ns - curve->last_ns : 0;
		curve->interval_ns = time_ns - curve->last_ns;
	} else {
		curve->first_ns = time_ns;
	}
	curve->last_ns = time_ns;
	curve->points[curve->count++] = (struct curve_point){ time_ns, curve->unknown_ns, curve->joules };
}

/* The totals at a time between the first and the last reading. */
static void totals_at(const struct energy_curve *curve, int64_t time_ns, double *joules, double *unknown_ns)
{
	size_t low = 0, high = curve->count - 1;
	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;
		if (curve->points[middle].time_ns <= time_ns)
			low = middle;
		else
			high = middle;
	}
	const struct curve_point *before = &curve->points[low], *after = &curve->points[high];
	double part = after->time_ns > before->time_ns
		? (double)(time_ns - before->time_ns) / (double)(after->time_ns - before->time_ns)
		: 0;
	*joules = before->joules + (after->joules - before->joules) * part;
	*unknown_ns = (double)before->unknown_ns + (double)(after->unknown_ns - before->unknown_ns) * part;
}

double energy_curve_between(const struct energy_curve *curve, int64_t from_ns, int64_t to_ns, bool *is_whole)
{
	double joules[2], unknown_ns[2];
	int64_t begin_ns = from_ns > curve->first_ns ? from_ns : curve->first_ns,
			end_ns = to_ns < curve->last_ns ? to_ns : curve->last_ns;
	*is_whole = false;
	if (curve->count < 2 || end_ns <= begin_ns)
		return NAN;
	totals_at(curve, begin_ns, &joules[0], &unknown_ns[0]);
	totals_at(curve, end_ns, &joules[1], &unknown_ns[1]);
	if (unknown_ns[1] - unknown_ns[0] > (double)(end_ns - begin_ns) - 1)
		return NAN;
	*is_whole = begin_ns == from_ns && end_ns == to_ns && unknown_ns[1] - unknown_ns[0] < 1;
	return joules[1] - joules[0];
}
