/* ras_judge.h: which ranks of the job are dead, do not answer, or are behind, as NCCL's RAS service sees them.
 *
 * A rank is behind if it has launched fewer collectives than others of its communicator, and no count of that has moved
 * since the answer before. It is judged (is_due) after the longer of 30 s and 1.5 times the longest standstill before;
 * in a communicator's first collectives after 60 s; if it is on this machine, and writes a checkpoint or compiles,
 * after ten minutes. A rank that does not answer is judged after two answers. */
#ifndef PMTOP_MODEL_COLLECTIVES_RAS_JUDGE_H
#define PMTOP_MODEL_COLLECTIVES_RAS_JUDGE_H

#include "src/model/collectives/ras.h"

enum { RAS_NAMED_MAX = 8 };

enum ras_finding { RAS_FINE, RAS_IS_BEHIND, RAS_NO_ANSWER, RAS_IS_DEAD };

struct ras_judgement {
	enum ras_finding finding;
	size_t group;
	size_t count;                /* of the ranks concerned */
	size_t ranks[RAS_NAMED_MAX]; /* the first of them: indexes */
	enum ras_op op;              /* BEHIND: what they launched fewer of … */
	uint64_t low, high;          /* … how many the last, and the first rank launched */
	double still_s, patience_s;  /* BEHIND */
	bool is_due;
};

/* What matters most: a dead rank, then one that does not answer, then one that others wait for and that waits for no
 * one itself. Without RAS, or if its last answer is old: FINE. */
void ras_judge(const struct model *model, struct ras_judgement *out);
void ras_judge_group(const struct model *model, size_t group, struct ras_judgement *out);
/* The largest communicator: its ranks are the job's. −1 = none. */
int ras_world(const struct ras *ras);
/* The number of a rank in the job; −1 = it is not in the largest communicator. */
long ras_number(const struct ras *ras, const struct ras_rank *rank);
/* How many hosts the ranks of a communicator are on. */
size_t ras_hosts(const struct ras_group *group);

#endif
