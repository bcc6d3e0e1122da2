/* fake_perf.h: a fake kernel with counters, as a perf_opener: which it denies, how long it counts, which were opened.
 */
#ifndef PMTOP_TESTS_FAKE_PERF_H
#define PMTOP_TESTS_FAKE_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "src/sources/perf/perf_opener.h"

enum { FAKE_PERF_MAX = 8192, FAKE_PERF_REFUSALS = 8, FAKE_PERF_ANY = -1000 };

struct fake_counter {
	bool is_open;
	struct perf_code code;
	int tid, cpu, leader, members; /* members: of the group that it leads */
	uint64_t enabled_ns, running_ns;
	double value;
};

struct fake_perf {
	struct perf_opener opener;
	unsigned open, opened, encoded; /* now; ever; names asked for */
	unsigned open_max;              /* then EMFILE */
	int next;                       /* index, wraps around */
	int group_max;                  /* hardware counters in a group: then EINVAL */
	bool is_user_only;              /* EACCES for the kernel's part */
	bool reads_short;
	double share; /* of the time in which hardware is counted */
	/* FAKE_PERF_ANY; error 0 ends the list */
	struct {
		int64_t type, config, tid;
		int error;
	} refusals[FAKE_PERF_REFUSALS];
	struct fake_counter counters[FAKE_PERF_MAX]; /* by descriptor − FAKE_PERF_FIRST */
};

/* Everything can be opened. An event counts (lowest bits of its code) + 1 a nanosecond; the clock counts nanoseconds.
 */
void fake_perf_init(struct fake_perf *perf);
void fake_perf_refuse(struct fake_perf *perf, int64_t type, int64_t config, int64_t tid, int error);
/* A thread runs for so long (tid −1: all threads on `cpu`). */
void fake_perf_run(struct fake_perf *perf, int tid, double seconds);
/* Counts per nanosecond of a counter. */
double fake_perf_rate(const struct perf_code *code);

#endif
