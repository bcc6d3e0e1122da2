/* publisher_clock.h: include it instead of src/region/pmtop.h where a test moves the publisher's clock forward instead
 * of sleeping: batches and spans then last as long as the test says. */
#ifndef PMTOP_TESTS_PUBLISHER_CLOCK_H
#define PMTOP_TESTS_PUBLISHER_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Added to the monotonic clock and to the wall clock, not to CPU times. Readers clamp events of the future to now. */
static int64_t publisher_later_ns;

static inline int publisher_gettime(clockid_t id, struct timespec *out)
{
	int result = clock_gettime(id, out);
	if (id != CLOCK_MONOTONIC && id != CLOCK_REALTIME)
		return result;
	int64_t ns = out->tv_sec * INT64_C(1000000000) + out->tv_nsec + publisher_later_ns;
	out->tv_sec = ns / 1000000000;
	out->tv_nsec = ns % 1000000000;
	return result;
}

#define clock_gettime publisher_gettime
#include "src/region/pmtop.h"
#undef clock_gettime

#endif
