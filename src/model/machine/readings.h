/* readings.h: by how much one counter grew from reading to reading, over about the last two minutes. Rows in which
 * nothing grew are merged, so that a counter that stands still takes no room; a counter that stands still has the same
 * value at any time between. */
#ifndef PMTOP_MODEL_MACHINE_READINGS_H
#define PMTOP_MODEL_MACHINE_READINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { READINGS_MAX = 512, READINGS_RETAINED_S = 120 };

struct reading;

struct readings {
	uint16_t room, first, count;
	bool is_whole;        /* the oldest row is where it began to count, at 0 */
	int64_t last_ns;      /* of the newest */
	struct reading *rows; /* a ring, as large as it was needed */
};

void readings_release(struct readings *readings);
/* Where it begins to count: before, there was nothing. */
void readings_begin(struct readings *readings, int64_t time_ns);
/* NAN: the first reading, or nobody knows. Times do not go back. */
void readings_push(struct readings *readings, int64_t time_ns, double growth);
/* The bounds of batch_window.h. */
void readings_bounds(const struct readings *readings, int64_t from_ns, int64_t to_ns, double *min, double *max);
/* As if it had grown evenly between two readings; what is not known counts as 0. */
double readings_estimate(const struct readings *readings, int64_t from_ns, int64_t to_ns);
/* A reading within the window (its ends included) after which it grew until the next. */
bool readings_grew_after(const struct readings *readings, int64_t from_ns, int64_t to_ns);
size_t readings_within(const struct readings *readings, int64_t from_ns, int64_t to_ns);
/* The median growth a second over the minute before; NAN where less than 2 s of it are known. */
double readings_baseline(const struct readings *readings, int64_t before_ns);
int64_t readings_first_ns(const struct readings *readings); /* 0 = none */

#endif
