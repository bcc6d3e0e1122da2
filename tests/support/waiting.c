#include "tests/support/waiting.h"

#include <poll.h>
#include <stddef.h>

#include "src/base/clock.h"

int64_t wait_deadline(int seconds) { return clock_monotonic_ns() + seconds * NS_PER_S; }

bool wait_nap(int64_t deadline_ns)
{
	if (clock_monotonic_ns() >= deadline_ns)
		return false;
	poll(NULL, 0, 1);
	return true;
}

bool wait_until(bool (*is_so)(void *context), void *context, int seconds)
{
	const int64_t deadline_ns = wait_deadline(seconds);
	bool is_met;
	while (!(is_met = is_so(context)) && wait_nap(deadline_ns))
		continue;
	return is_met;
}
