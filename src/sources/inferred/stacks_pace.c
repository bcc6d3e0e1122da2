#include "src/sources/inferred/stacks_pace.h"

#include "src/base/clock.h"

/* Sampling becomes slower if it would cost more of a CPU than this. */
#define BUDGET_RATIO 0.005
#define BUDGET_VIEWED_RATIO 0.01
/* The part of it that other threads than the main ones may cost. */
#define THREADS_RATIO 0.25
#define THREADS_NS ((double)NS_PER_S)
#define THREADS_OFTEN_NS (100 * (double)NS_PER_MS)

enum { SAMPLES_AVERAGED = 16, THREADS_AVERAGED = 4 };

void stacks_pace_note_sample(struct stacks_pace *pace, int64_t cpu_ns)
{
	pace->sample_ns += ((double)cpu_ns - pace->sample_ns) / SAMPLES_AVERAGED;
}

void stacks_pace_note_threads(struct stacks_pace *pace, int64_t cpu_ns)
{
	pace->threads_ns += ((double)cpu_ns - pace->threads_ns) / THREADS_AVERAGED;
}

double stacks_pace_threads_ns(const struct stacks_pace *pace, const struct source_choices *choices, size_t groups)
{
	bool is_often = choices->wants_stacks || choices->seeks_lines;
	double budget = (is_often ? BUDGET_VIEWED_RATIO : BUDGET_RATIO) * THREADS_RATIO;
	double min = pace->threads_ns * (double)groups / budget, each_ns = is_often ? THREADS_OFTEN_NS : THREADS_NS;
	return each_ns > min ? each_ns : min;
}

double stacks_pace_period_ns(
	const struct stacks_pace *pace, const struct source_choices *choices, size_t groups, bool is_boosted)
{
	bool is_often = is_boosted || choices->wants_stacks || choices->seeks_lines;
	double hz = is_often && choices->stacks_hz < STACKS_HZ_VIEWED ? STACKS_HZ_VIEWED : choices->stacks_hz;
	double threads_ratio = pace->threads_ns * (double)groups / stacks_pace_threads_ns(pace, choices, groups);
	double budget = (is_often ? BUDGET_VIEWED_RATIO : BUDGET_RATIO) - threads_ratio;
	double min = pace->sample_ns * (double)groups / budget;
	return (double)NS_PER_S / hz > min ? (double)NS_PER_S / hz : min;
}

double stacks_pace_random(struct stacks_pace *pace)
{
	pace->random ^= pace->random << 13;
	pace->random ^= pace->random >> 7;
	pace->random ^= pace->random << 17;
	return (double)(pace->random >> 11) * 0x1p-53;
}
