/* clock.h: the clocks of the program, in nanoseconds. All times are CLOCK_MONOTONIC unless a name says otherwise.
 *
 * Modules take `now_ns` as an argument and never read the clock themselves; only commands and the collector do. */
#ifndef PMTOP_BASE_CLOCK_H
#define PMTOP_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

int64_t clock_monotonic_ns(void);
int64_t clock_realtime_ns(void);
int64_t clock_boottime_ns(void);
int64_t clock_thread_cpu_ns(void);
int64_t clock_process_cpu_ns(void);

/* Seconds between two times, as a double. */
static inline double seconds_between(int64_t from_ns, int64_t to_ns)
{
	return (double)(int64_t)((uint64_t)to_ns - (uint64_t)from_ns) * 1e-9;
}

/* a + b, saturated to INT64_MIN and INT64_MAX: times from a damaged file may be anything. */
static inline int64_t clock_add(int64_t a_ns, int64_t b_ns)
{
	int64_t sum_ns;
	return !__builtin_add_overflow(a_ns, b_ns, &sum_ns) ? sum_ns : b_ns < 0 ? INT64_MIN : INT64_MAX;
}

#endif
