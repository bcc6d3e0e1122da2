/* perf_threads.h: the counters of every thread of the watched tree, opened by a plan, and their sums per process.
 *
 * A counter belongs to one thread, and threads that start later have none (`inherit` would not cover threads that
 * already run, and cannot be read as a group). The tree is therefore scanned again about once a second; a thread
 * that starts and ends in between is not counted. The counts of ended threads stay in the sum of their process.
 *
 * If the CPU has too few counters, groups take turns: counts are scaled by enabled ÷ running between two readings,
 * not over the whole time, so that a sum never falls. A group that had no turn is not counted until it has one. */
#ifndef PMTOP_SOURCES_PERF_PERF_THREADS_H
#define PMTOP_SOURCES_PERF_PERF_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/sources/perf/perf_plan.h"
#include "src/sources/target/target.h"

enum { PERF_THREADS_MAX = 1024, PERF_DESCRIPTORS_MAX = 16384 };

struct perf_threads;

/* The plan and the opener are the caller's. `descriptors`: how many may be open. NULL: out of memory. */
struct perf_threads *perf_threads_new(
	const struct perf_plan *plan, const struct perf_opener *opener, unsigned descriptors);
void perf_threads_free(struct perf_threads *threads);
/* Opens the counters of new threads, and closes those of ended ones. Ended processes stay until
 * perf_threads_forget_gone. */
void perf_threads_scan(struct perf_threads *threads, const struct target *target);
void perf_threads_read(struct perf_threads *threads);
/* Drops processes that have ended, after their last sums were emitted. */
void perf_threads_forget_gone(struct perf_threads *threads);

size_t perf_threads_processes(const struct perf_threads *threads);
pid_t perf_threads_pid(const struct perf_threads *threads, size_t process);
/* An event's sum since counting began, and the share of the time in which it was counted. False: it was not counted. */
bool perf_threads_sum(
	const struct perf_threads *threads, size_t process, unsigned event, double *value, double *counted_ratio);

/* Threads have run for more than two seconds in all, and this event never had a turn. */
bool perf_threads_never_had_turn(const struct perf_threads *threads, unsigned event);

struct perf_left_out {
	unsigned threads_too_many;      /* beyond PERF_THREADS_MAX */
	unsigned threads_no_descriptor; /* for which no descriptor was left */
	unsigned processes_denied;      /* none of their threads may be counted */
	int denied_error;
	pid_t denied_pid;
};
/* At the last scan. */
struct perf_left_out perf_threads_left_out(const struct perf_threads *threads);
size_t perf_threads_count(const struct perf_threads *threads);

#endif
