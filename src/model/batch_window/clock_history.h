/* clock_history.h: clock, busy ratio and throttle reasons of a GPU (or the CPUs) over about the last two minutes.
 * Private to the model.
 *
 * A reading holds until the next one. The baseline is the median over the minute before a window, over readings in
 * which the GPU was busy. */
#ifndef PMTOP_MODEL_BATCH_WINDOW_CLOCK_HISTORY_H
#define PMTOP_MODEL_BATCH_WINDOW_CLOCK_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLOCK_HISTORY_READINGS_MAX = 512 };
#define CLOCK_HISTORY_THROTTLED_UNKNOWN UINT32_MAX

struct clock_reading {
	int64_t time_ns;
	float clock_hz, busy_ratio; /* NAN = unknown */
	uint32_t throttled;         /* bits: 1 << enum gpu_throttle; CPUs: 1 = heat */
};

struct clock_history {
	int32_t instance; /* of the GPU; −1 = the CPUs */
	uint16_t room, first, count;
	struct clock_reading *readings; /* a ring, grown as needed */
	double throttles;               /* CPUs: last value of their throttle counter; NAN = none yet */
};

/* A drop of the clock while throttled. */
struct clock_fall {
	double clock_hz, baseline_hz; /* mean of the throttled readings; baseline */
	/* share of throttled readings in the window; with too few readings, of those next to it */
	double part_ratio;
	double baseline_busy_ratio; /* NAN = unknown */
	uint32_t throttled;         /* reasons that were not present in the baseline, or, if there are none, all reasons */
};

void clock_history_release(struct clock_history *history);
/* The reading at this time, or a new one. Figures read together have slightly different times and share a reading.
 * NULL: the time is before the latest reading's, or out of memory. */
struct clock_reading *clock_history_reading(struct clock_history *history, int64_t time_ns);
/* False: no drop while throttled is known. A window with only one reading uses the readings next to it too; a window
 * without a reading requires that both agree and are at most 1 s apart. */
bool clock_history_fall(const struct clock_history *history, int64_t from_ns, int64_t to_ns, struct clock_fall *out);
/* The share of a window in which any of these bits was set; NAN if less than half of it is known. *clock_hz (may be
 * NULL): the mean clock meanwhile; NAN if no bit was set. */
double clock_history_throttled_ratio(
	const struct clock_history *history, uint32_t bits, int64_t from_ns, int64_t to_ns, double *clock_hz);

#endif
