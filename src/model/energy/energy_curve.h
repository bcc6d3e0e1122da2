/* energy_curve.h: the energy of one meter over time, to compute the energy within a window. Between two readings it is
 * distributed evenly.
 *
 * Memory is bounded: every other old reading is dropped repeatedly, so the resolution decreases with age. */
#ifndef PMTOP_MODEL_ENERGY_ENERGY_CURVE_H
#define PMTOP_MODEL_ENERGY_ENERGY_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CURVE_POINTS_MAX = 1024 };

struct curve_point;

struct energy_curve {
	size_t count, room;
	struct curve_point *points;
	double joules;             /* since its first reading, as far as known */
	int64_t first_ns, last_ns; /* times of its readings; 0 = none */
	int64_t interval_ns;       /* between the latest two */
	int64_t unknown_ns;        /* total time in which the energy, or its distribution, is unknown */
};

void energy_curve_release(struct energy_curve *curve);
/* Is a reading at time_ns close enough to the previous one: within 10 s, or twice the previous interval? If not, the
 * distribution of the energy in between is unknown. */
bool energy_curve_is_dense(const struct energy_curve *curve, int64_t time_ns);
/* Adds a reading. `growth`: joules since the previous one, NAN = unknown. Ignored if the time is not later. */
void energy_curve_push(struct energy_curve *curve, int64_t time_ns, double growth);
/* Joules within a window, as far as known; NAN if there are no readings. *is_whole: the whole window is covered. */
double energy_curve_between(const struct energy_curve *curve, int64_t from_ns, int64_t to_ns, bool *is_whole);

#endif
