/* stacks_pace.h: how often stacks are sampled: at the wanted rates, but slower if that would cost too much of a CPU. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_PACE_H
#define PMTOP_SOURCES_INFERRED_STACKS_PACE_H

#include <stddef.h>
#include <stdint.h>

#include "src/sources/choices.h"

/* CPU times, moving averages: of a sample of a main thread, and of all other threads of a process. Zeroed at first, but
 * for `random`. */
struct stacks_pace {
	double sample_ns, threads_ns;
	uint64_t random;
};

void stacks_pace_note_sample(struct stacks_pace *pace, int64_t cpu_ns);
void stacks_pace_note_threads(struct stacks_pace *pace, int64_t cpu_ns);
/* The time between two samples of one of `groups` groups. While DataLoaders (is_boosted) or the lines of slow batches
 * are sought, the rate is as high as while the user views the stacks. */
double stacks_pace_period_ns(
	const struct stacks_pace *pace, const struct source_choices *choices, size_t groups, bool is_boosted);
/* The time between two samples of all other threads of one of `groups` processes. */
double stacks_pace_threads_ns(const struct stacks_pace *pace, const struct source_choices *choices, size_t groups);
/* A random number from 0 to 1: samples must not be in step with the program. */
double stacks_pace_random(struct stacks_pace *pace);

#endif
