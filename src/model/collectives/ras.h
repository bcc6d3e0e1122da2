/* ras.h: the communicators of the whole job, all ranks of all nodes, from NCCL's RAS service (src/sources/ras).
 *
 * NCCL counts the collectives that each rank has launched. While they move, differences are normal; ranks are judged
 * once all counts of a communicator stand still. Collectives between two ranks (send, recv) are not counted. */
#ifndef PMTOP_MODEL_COLLECTIVES_RAS_H
#define PMTOP_MODEL_COLLECTIVES_RAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

enum { RAS_HOSTS_MAX = 4096, RAS_TEXT_SIZE = 48, RAS_MODEL_GROUPS_MAX = 1024, RAS_MODEL_RANKS_MAX = 1 << 16 };

struct ras_rank {
	int32_t rank; /* in the communicator */
	int32_t pid;  /* of this machine's ranks as pmtop sees it; else as the process does; −1 = unknown */
	int32_t gpu;
	uint32_t host, error;
	enum ras_state state;
	bool was_unresponsive; /* in the answer before, too */
	uint64_t counts[RAS_OP_COUNT];
};

struct ras_group {
	uint64_t hash;
	uint32_t size, left_out; /* left_out: ranks that are not among `ranks` */
	uint64_t answer;         /* the last answer that had it */
	size_t rank_count;
	struct ras_rank *ranks; /* by rank */
	int64_t still_ns;       /* since when no count has changed */
	unsigned equal_answers; /* consecutive answers with the counts of the one before */
	double longest_still_s; /* that ended with a change */
};

struct ras {
	int32_t asked_pid;
	char version[RAS_TEXT_SIZE];
	int own_host;    /* index; −1 = unknown */
	int64_t read_ns; /* of the latest answer */
	bool is_repeat;  /* the records being read repeat that answer */
	double collection_s;
	uint32_t timeouts, left_out; /* left_out: communicators that are not among `groups` */
	uint64_t answers;
	size_t group_count, host_count;
	struct ras_group *groups; /* RAS_MODEL_GROUPS_MAX; those that the latest answer has, and others: ras_is_current() */
	char (*hosts)[RAS_TEXT_SIZE]; /* RAS_HOSTS_MAX */
};

struct model;

static inline bool ras_is_current(const struct ras *ras, const struct ras_group *group)
{
	return group->answer == ras->answers;
}

/* -- within src/model -- */

void model_take_ras(struct model *model, const struct record *record);
void model_free_ras(struct model *model);

#endif
