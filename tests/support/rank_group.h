/* rank_group.h: several ranks, emitted by hand to one model, step by step. Times are seconds since `base_ns`.
 *
 *   struct group group;
 *   rank_group_open(&group, model, SCRIPT_BASE_NS);
 *   unsigned first = rank_group_add(&group, 0, 2, "run", 100), second = rank_group_add(&group, 1, 2, "run", 101);
 *   rank_group_step(&group, first, (struct rank_group_step){ .data_s = 0.02, .forward_s = 0.05, .backward_s = 0.10 });
 *   rank_group_apply(&group, 1.0); */
#ifndef PMTOP_TESTS_RANK_GROUP_H
#define PMTOP_TESTS_RANK_GROUP_H

#include "src/model/model.h"

struct rank_group_step {
	double data_s, forward_s, backward_s, allreduce_s, optimizer_s;
};

enum rank_group_name {
	RANK_GROUP_DATA = 1,
	RANK_GROUP_FORWARD,
	RANK_GROUP_BACKWARD,
	RANK_GROUP_ALLREDUCE,
	RANK_GROUP_OPTIMIZER,
	RANK_GROUP_NAMES
};

struct rank_group {
	struct model *model; /* the caller's */
	struct sample_set set;
	int64_t base_ns;
	unsigned count;
	struct {
		uint64_t sequence, batches;
		double at_s;
	} ranks[MODEL_RUNS_MAX];
};

void rank_group_open(struct rank_group *rank_group, struct model *model, int64_t base_ns);
void rank_group_close(struct rank_group *rank_group);
/* A live run of process `pid`, with RANK and WORLD_SIZE unless `world` is 0, and a run_id unless NULL; in an epoch.
 * Returns its id and index. */
unsigned rank_group_add(struct rank_group *rank_group, long rank, long world, const char *run_id, int32_t pid);
/* Renames this span in all current ranks. */
void rank_group_rename(struct rank_group *rank_group, enum rank_group_name name, const char *text);
/* The next batch, from the end of the last, with consecutive spans. */
void rank_group_step(struct rank_group *rank_group, unsigned rank, struct rank_group_step step);
/* A batch begins and stays in this span (0: none). */
void rank_group_hang(struct rank_group *rank_group, unsigned rank, enum rank_group_name name);
/* The rank's last batch ended so long ago that it is in the loader. */
void rank_group_load(struct rank_group *rank_group, unsigned rank);
void rank_group_end(struct rank_group *rank_group, unsigned rank, double at_s, bool is_killed);
void rank_group_figure(struct rank_group *rank_group, double at_s, enum metric metric, int32_t pid, double value);
/* Applies the records since the last call, as one set read at this time. */
void rank_group_apply(struct rank_group *rank_group, double at_s);

#endif
