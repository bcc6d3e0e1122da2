/* readings.h: the growth of one counter between its readings, over about the last two minutes. Consecutive readings
 * without growth are merged into one row, which loses no information: the counter has the same value at all times
 * between. */
#ifndef PMTOP_MODEL_MACHINE_READINGS_H
#define PMTOP_MODEL_MACHINE_READINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { READINGS_MAX = 512, READINGS_RETAINED_S = 120 };

struct reading;

struct readings {
	uint16_t room, first, count;
	bool is_whole;        /* the oldest row is the counter's start at 0 */
	int64_t last_ns;      /* of the latest reading */
	struct reading *rows; /* a ring, grown as needed */
};

void readings_release(struct readings *readings);
/* The counter starts at 0 at this time: nothing was counted before. */
void readings_begin(struct readings *readings, int64_t time_ns);
/* Adds a reading. growth NAN: the first reading, or unknown. Readings that are not newer are ignored. */
void readings_push(struct readings *readings, int64_t time_ns, double growth);
/* Lower and upper bound of the growth within a window (batch_window.h). */
void readings_bounds(const struct readings *readings, int64_t from_ns, int64_t to_ns, double *min, double *max);
/* The growth within a window, interpolated linearly between readings; unknown growth counts as 0. */
double readings_estimate(const struct readings *readings, int64_t from_ns, int64_t to_ns);
/* Did the counter grow between a reading within the window (ends included) and the next one? */
bool readings_grew_after(const struct readings *readings, int64_t from_ns, int64_t to_ns);
size_t readings_within(const struct readings *readings, int64_t from_ns, int64_t to_ns);
/* The median growth per second over the minute before; NAN if less than 2 s of it are known. */
double readings_baseline(const struct readings *readings, int64_t before_ns);
int64_t readings_first_ns(const struct readings *readings); /* 0 = none */

#endif
