/* stacks_groups.h: groups of sampled processes: a single process, or the DataLoader workers of one process in turn;
 * and their sample counts. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_GROUPS_H
#define PMTOP_SOURCES_INFERRED_STACKS_GROUPS_H

#include "src/samples/sample_set.h"
#include "src/sources/python/py_sampler.h"

enum { STACKS_GROUPS_MAX = 64 };

struct stacks_group {
	uint32_t id;
	int32_t pid; /* of workers: their parent process */
	bool is_workers;
	char python[PY_VERSION_SIZE];
	uint64_t samples, partial, total_ns, emitted_samples;
	double hz;
	size_t turn;              /* index of its process that was sampled last */
	int64_t last_ns, next_ns; /* 0 = not sampled yet */
};

struct stacks_groups {
	size_t count;
	struct stacks_group list[STACKS_GROUPS_MAX];
};

/* Whether it is the stack of one of torch's DataLoader workers. */
bool stacks_groups_is_worker(const struct py_sample *sample);
/* The group's index; a new group if there is none; STACKS_GROUPS_MAX: there is no room. */
size_t stacks_groups_find(struct stacks_groups *groups, int32_t pid, bool is_workers, const struct py_layout *python);
/* Counts a sample, given the sampling period; returns the time that it represents. */
uint64_t stacks_group_count(struct stacks_group *group, bool is_whole, double period_ns, int64_t now_ns);
/* Emits CODE_GROUP of groups that were sampled since the last call; with `again` of all that were emitted before. */
void stacks_groups_emit(struct stacks_groups *groups, bool again, int64_t now_ns, struct sample_set *out);

#endif
