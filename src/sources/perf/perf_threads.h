/* perf_threads.h: the counters of every thread of the watched tree, opened by a plan, and their sums per process.
 *
 * A counter is of one thread: those that a thread starts later have none (`inherit` would not give the threads that are
 * already there, and cannot be read as a group), so the tree is looked through again about once a second; a thread that
 * lived and died in between is not counted. What ended threads counted stays in the sum of their process.
 *
 * Where the CPU has fewer counters than were asked for, groups take turns: what was counted is scaled by enabled ÷
 * running, between two readings and not over the whole time, so that a sum never falls. A group that had no turn is not
 * counted until it has one. */
#ifndef PMTOP_SOURCES_PERF_PERF_THREADS_H
#define PMTOP_SOURCES_PERF_PERF_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/sources/perf/perf_plan.h"
#include "src/sources/target/target.h"

enum { PERF_THREADS_MAX = 1024, PERF_DESCRIPTORS_MAX = 16384 };

struct perf_threads;

/* The plan and the opener are the caller's. `descriptors`: so many may be open. NULL: out of memory. */
struct perf_threads *perf_threads_new(
	const struct perf_plan *plan, const struct perf_opener *opener, unsigned descriptors);
void perf_threads_free(struct perf_threads *threads);
/* Opens the counters of threads that came, and closes those of threads that went. Processes stay until
 * perf_threads_forget_gone. */
void perf_threads_scan(struct perf_threads *threads, const struct target *target);
void perf_threads_read(struct perf_threads *threads);
/* Processes that have ended, once their last sums were told. */
void perf_threads_forget_gone(struct perf_threads *threads);

size_t perf_threads_processes(const struct perf_threads *threads);
pid_t perf_threads_pid(const struct perf_threads *threads, size_t process);
/* An event's sum since counting began, and which share of the time was counted. False: it was not counted. */
bool perf_threads_sum(
	const struct perf_threads *threads, size_t process, unsigned event, double *value, double *counted_ratio);

/* Threads have run for two seconds and more, and this event had no turn in all that time. */
bool perf_threads_never_had_turn(const struct perf_threads *threads, unsigned event);

struct perf_left_out {
	unsigned threads_too_many;      /* beyond PERF_THREADS_MAX */
	unsigned threads_no_descriptor; /* beyond the descriptors that there are */
	unsigned processes_denied;      /* not one thread of them may be counted */
	int denied_error;
	pid_t denied_pid;
};
/* At the last scan. */
struct perf_left_out perf_threads_left_out(const struct perf_threads *threads);
size_t perf_threads_count(const struct perf_threads *threads);
size_t perf_threads_descriptors(const struct perf_threads *threads);

#endif
