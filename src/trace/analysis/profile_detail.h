/* profile_detail.h: one operator, one kernel or one gap in detail. Each reads the whole profile once. */
#ifndef PMTOP_TRACE_PROFILE_DETAIL_H
#define PMTOP_TRACE_PROFILE_DETAIL_H

#include "src/trace/analysis/profile_idle.h"
#include "src/trace/analysis/profile_shares.h"
#include "src/trace/analysis/profile_spread.h"

/* An operator, an annotation or a module. Times are totals, as in key_averages. */
struct profile_op_detail {
	struct profile_shares callers;       /* names and kinds of what it runs in directly, in time of this */
	struct profile_shares parts;         /* names and kinds of what runs directly in it */
	struct profile_shares shapes, lines; /* names: Input Dims; the program's own Python functions; 0 = not recorded */
	struct profile_shares kernels;       /* names and kinds of the work that it or its parts launch */
	struct profile_spread durations;     /* on the host */
};

/* A kernel, or the copies of one name. */
struct profile_work_detail {
	struct profile_shares ops,
		lines; /* names (and kinds) of what launches it; names of Python functions; 0 = unknown */
	struct profile_spread durations, delays; /* delays: from launch to start */
};

enum { PROFILE_GAP_THREADS_MAX = 8 };

struct profile_gap_thread {
	const struct profile_track *track;
	struct profile_shares inside; /* names and kinds; host_ns: own time within the gap */
	int64_t covered_ns;           /* in any event */
};

struct profile_gap_detail {
	int64_t split_ns[IDLE_KIND_COUNT];
	struct profile_gap_thread threads[PROFILE_GAP_THREADS_MAX]; /* those that launch GPU work */
	unsigned thread_count;
};

/* `name`: with its kind, as in struct profile_op. False: no memory; release it all the same. */
bool profile_detail_op(struct profile *profile, uint32_t name, struct profile_op_detail *out);
void profile_detail_op_release(struct profile_op_detail *detail);
bool profile_detail_work(struct profile *profile, uint32_t name, struct profile_work_detail *out);
void profile_detail_work_release(struct profile_work_detail *detail);
/* `waits`: of the analysis, flattened. */
bool profile_detail_gap(struct profile *profile, const struct profile_waits *waits, const struct profile_gap *gap,
	struct profile_gap_detail *out);
void profile_detail_gap_release(struct profile_gap_detail *detail);

#endif
