#include "src/sources/inferred/stacks_pace.h"

#include "src/base/clock.h"

/* What they may cost: a part of what stacks_budget.c allows for all. */
#define REST_RATIO 0.0005
#define OFTEN_RATIO 0.0025
#define THREADS_NS ((double)NS_PER_S)
#define THREADS_OFTEN_NS (100 * (double)NS_PER_MS)

enum { THREADS_AVERAGED = 4 };

void stacks_pace_note_threads(struct stacks_pace *pace, int64_t cpu_ns)
{
	pace->threads_ns += ((double)cpu_ns - pace->threads_ns) / THREADS_AVERAGED;
}

double stacks_pace_threads_ns(const struct stacks_pace *pace, bool is_often, size_t groups)
{
	double budget = is_often ? OFTEN_RATIO : REST_RATIO;
	double min = pace->threads_ns * (double)groups / budget, each_ns = is_often ? THREADS_OFTEN_NS : THREADS_NS;
	return each_ns > min ? each_ns : min;
}

double stacks_pace_random(struct stacks_pace *pace)
{
	pace->random ^= pace->random << 13;
	pace->random ^= pace->random >> 7;
	pace->random ^= pace->random << 17;
	return (double)(pace->random >> 11) * 0x1p-53;
}
