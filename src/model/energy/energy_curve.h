/* energy_curve.h: the joules that one meter counted, over time: how much of it falls into a window. Between two
 * readings it is shared out evenly.
 *
 * Bounded: of what is old only every other reading is kept, again and again, so that its grain is in proportion to its
 * age. */
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
	double joules;             /* since its first reading, as far as it is known */
	int64_t first_ns, last_ns; /* of its readings; 0 = none */
	int64_t interval_ns;       /* between the newest two */
	int64_t unknown_ns;        /* time of which it is not known what was used, or when */
};

void energy_curve_release(struct energy_curve *curve);
/* Whether a reading now comes soon enough after the one before: within 10 s, or twice the time between those before.
 * Else nobody knows when what was used meanwhile was used. */
bool energy_curve_is_dense(const struct energy_curve *curve, int64_t time_ns);
/* A reading. `growth`: joules since the one before, NAN = nobody knows. Times that do not go on are dropped. */
void energy_curve_push(struct energy_curve *curve, int64_t time_ns, double growth);
/* Joules within a window, as far as they are known; NAN where no reading is. *is_whole: it was read all the time. */
double energy_curve_between(const struct energy_curve *curve, int64_t from_ns, int64_t to_ns, bool *is_whole);

#endif
