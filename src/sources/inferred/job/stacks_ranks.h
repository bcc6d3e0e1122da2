/* stacks_ranks.h: the jobs of the target's processes (stacks_job.h), and, if the target itself is a rank, the other
 * ranks of its job on this machine. With a launcher's variables they need no common parent, and without they have the
 * parent that spawned them. pmtop opens those with the same owner and executable only.
 *
 * All calls come from the collector's sampler thread. Refreshing reads /proc and may be abandoned in it
 * (src/base/files/hang_watch.h), so it is done under no lock. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_RANKS_H
#define PMTOP_SOURCES_INFERRED_STACKS_RANKS_H

#include "src/samples/sample_set.h"
#include "src/sources/inferred/job/stacks_job.h"
#include "src/sources/target/target.h"

enum { STACKS_OTHERS_MAX = 31, STACKS_JOBS_MAX = 128 };

struct stacks_other {
	struct target_member member;
	struct stacks_job job;
	int64_t emitted_ns;
};

struct stacks_ranks {
	size_t job_count;
	struct {
		pid_t pid;
		uint64_t start_ticks;
		unsigned generation;
		struct stacks_job job;
	} jobs[STACKS_JOBS_MAX]; /* of the target's processes */
	size_t other_count;
	struct stacks_other others[STACKS_OTHERS_MAX];
	int64_t search_ns, interval_ns; /* when to search for others again */
	bool is_spawned; /* the target is a rank without an environment: its siblings of the same kind are sampled too */
};

void stacks_ranks_refresh(struct stacks_ranks *ranks, const struct target *target, int64_t now_ns);
/* NULL: it was not read. */
const struct stacks_job *stacks_ranks_job(const struct stacks_ranks *ranks, const struct target_member *member);
/* The memory and state of the other ranks, which no other source reads. */
void stacks_ranks_emit(struct stacks_ranks *ranks, int64_t now_ns, struct sample_set *out);
void stacks_ranks_release(struct stacks_ranks *ranks);

#endif
