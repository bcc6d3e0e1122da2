/* collectives.h: which collective each rank has entered, per process group, from PyTorch's flight recorder
 * (src/sources/collectives). Sequence numbers count the collectives of a group, from 1, and are the same in all ranks.
 *
 * Only ranks whose memory pmtop can read are known: those of this machine. */
#ifndef PMTOP_MODEL_COLLECTIVES_COLLECTIVES_H
#define PMTOP_MODEL_COLLECTIVES_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/collectives/joined.h"
#include "src/model/collectives/lost_time.h"
#include "src/samples/sample_set.h"

enum {
	COLLECTIVE_RANKS_MAX = 64,
	COLLECTIVE_GROUPS_MAX = 64,
	COLLECTIVE_OPS_MAX = 512,
	COLLECTIVE_SLOTS = 256, /* collectives retained per group */
	COLLECTIVE_TEXT_SIZE = 64
};

struct collective_rank {
	int32_t pid;
	long number; /* −1 = unknown */
	uint32_t world_size;
	bool is_gone;
	char state;           /* of /proc/PID/stat; 0 = unknown */
	int64_t read_ns;      /* the latest reading */
	double running_ratio; /* of the last seconds: the share of readings in which it ran, or waited for a CPU */
	struct collective_throttle {
		double total_s;      /* of the latest reading, at time_ns; NAN = unknown, here and below */
		int64_t time_ns;     /* 0 = none */
		double recent_ratio; /* of the time of the last seconds, in which a CPU quota throttled the rank; 0 … 1 */
	} throttle;
	struct joined joined;
	struct {
		uint64_t switches; /* voluntary context switches of its main thread; of the latest reading */
		int64_t moved_ns;  /* the reading in which they last changed; 0 = none yet, or unknown */
		double longest_s;  /* the longest time between two changes */
	} movement;            /* in exchange_hang.h */
};

struct collective_op {
	char name[COLLECTIVE_TEXT_SIZE];  /* "all_reduce"; "" = unknown */
	char sizes[COLLECTIVE_TEXT_SIZE]; /* of the inputs: "[1000]"; "" = unknown */
};

/* A rank in a group: sequence numbers of its last collectives; −1 = none, or unknown. */
struct collective_member {
	bool is_member;
	int64_t enqueued, started, completed;
	int64_t moved_ns; /* the reading in which `enqueued` last changed */
};

/* One collective, with the ranks that entered it. */
struct collective_slot {
	uint64_t sequence;   /* 0 = unused */
	int64_t released_ns; /* when the last member entered it; 0 = not all have, or unknown */
	struct {
		int64_t entered_ns; /* 0 = it has not, or unknown */
		uint32_t op;        /* index plus 1; 0 = unknown */
	} entries[COLLECTIVE_RANKS_MAX];
};

struct collective_group {
	bool is_used, is_device;         /* is_device: of NCCL */
	char name[COLLECTIVE_TEXT_SIZE]; /* "default_pg", or a number */
	struct collective_slot *slots;   /* COLLECTIVE_SLOTS, by sequence number modulo that; NULL = none yet */
	struct lost_group *lost;         /* of lost_time.h; NULL = none yet */
	double longest_skew_s;           /* longest time between the first and the last rank to enter one; 0 = none */
	struct collective_member members[COLLECTIVE_RANKS_MAX]; /* by the index of the rank */
};

struct collectives {
	size_t rank_count, group_count; /* group_count: of used and unused ones */
	size_t codes_compared;          /* of joined.h: functions of the model's code; has_join: one is Join's */
	bool has_join;
	struct collective_rank ranks[COLLECTIVE_RANKS_MAX];
	struct collective_op ops[COLLECTIVE_OPS_MAX];
	struct collective_group groups[COLLECTIVE_GROUPS_MAX];
};

struct model;

/* The collective of a group with this number; NULL = not retained. */
const struct collective_slot *collective_slot_of(const struct collective_group *group, uint64_t sequence);
/* NULL: unknown. */
const struct collective_op *collective_op_of(const struct collectives *collectives, uint32_t op);
/* Whether the rank takes part in the group now: a rank that ended and was replaced does not. */
bool collective_is_member(const struct collectives *collectives, const struct collective_group *group, size_t rank);

/* -- within src/model -- */

void model_take_collectives(struct model *model, const struct record *record);
void model_free_collectives(struct model *model);

#endif
