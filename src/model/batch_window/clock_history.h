/* clock_history.h: at which clock a GPU (or the CPUs) ran over about the last two minutes, how busy it was, and what
 * held it back. Private to the model.
 *
 * A reading stands until the next. What is usual is the median of the minute before a window, over the readings in
 * which it had work. */
#ifndef PMTOP_MODEL_BATCH_WINDOW_CLOCK_HISTORY_H
#define PMTOP_MODEL_BATCH_WINDOW_CLOCK_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLOCK_HISTORY_READINGS_MAX = 512 };
#define CLOCK_HISTORY_THROTTLED_UNKNOWN UINT32_MAX

struct clock_reading {
	int64_t time_ns;
	float clock_hz, busy_ratio; /* NAN = not known */
	uint32_t throttled;         /* bits: 1 << enum gpu_throttle; of the CPUs 1 = heat */
};

struct clock_history {
	int32_t instance; /* of the GPU; −1 = the CPUs */
	uint16_t room, first, count;
	struct clock_reading *readings; /* a ring, as large as it was needed */
	double throttles;               /* of the CPUs: what their counter last said; NAN = nothing yet */
};

/* A clock that fell while something held it back. */
struct clock_fall {
	double clock_hz, baseline_hz; /* mean of the readings in which it had fallen; the median before */
	/* of the window's readings, how many these are; where they are too few, of those about it */
	double part_ratio;
	double baseline_busy_ratio; /* NAN = not known */
	uint32_t throttled;         /* what held it back, and did not before; where all of that did before, that */
};

void clock_history_release(struct clock_history *history);
/* The reading of this time, or a new one; figures that are read together have nearly the same time. NULL: time went
 * back, or out of memory. */
struct clock_reading *clock_history_reading(struct clock_history *history, int64_t time_ns);
/* False: it did not fall, or not because something held it back, or nobody can have seen it: a window with fewer than
 * two readings is judged by the two about it as well, and one with none only where both agree and are at most 1 s
 * apart. */
bool clock_history_fall(const struct clock_history *history, int64_t from_ns, int64_t to_ns, struct clock_fall *out);
/* The share of a window in which any of these bits was set; NAN where less than half of it is known. And the mean clock
 * meanwhile, NAN where it was not set; clock_hz may be NULL. */
double clock_history_throttled_ratio(
	const struct clock_history *history, uint32_t bits, int64_t from_ns, int64_t to_ns, double *clock_hz);

#endif
