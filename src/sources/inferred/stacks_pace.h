/* stacks_pace.h: how often the threads beside the main one are sampled: at the wanted rates, but slower if that would
 * cost too much of a CPU. stacks_budget.h bounds all sampling. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_PACE_H
#define PMTOP_SOURCES_INFERRED_STACKS_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed at first, but for `random`. */
struct stacks_pace {
	double threads_ns; /* CPU time of a sample of all other threads of a process; moving average */
	uint64_t random;
};

void stacks_pace_note_threads(struct stacks_pace *pace, int64_t cpu_ns);
/* The time between two samples of all other threads of one of `groups` processes. */
double stacks_pace_threads_ns(const struct stacks_pace *pace, bool is_often, size_t groups);
/* A random number from 0 to 1: samples must not be in step with the program. */
double stacks_pace_random(struct stacks_pace *pace);

#endif
