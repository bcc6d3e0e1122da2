/* lost_time.h: how much time ranks waited for which rank, and why; and how fast the job would be without one rank's
 * delays.
 *
 * While some ranks have entered a collective and others have not, those that have wait. Their time counts for the ranks
 * that they wait for, in equal parts if there are several. A rank that enters the next collective of the group before
 * the last one has entered this one did not wait in it (asynchronous collectives). Of a rank that is late because it
 * waited in another group, or for another rank to send or receive, only its own delay counts (own_delay.h, exchange.h).
 *
 * Each delay has one cause. Checkpoint, compile and data need stack samples of the late rank (see cause_of); else a
 * delay of at least 5 s and 10 times the group's mean interval between collectives is a stall, and a shorter one a
 * straggler's. */
#ifndef PMTOP_MODEL_COLLECTIVES_LOST_TIME_H
#define PMTOP_MODEL_COLLECTIVES_LOST_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/collectives/exchange.h"

enum { LOST_RANKS_MAX = 64, LOST_ROWS_MAX = 16 };

#define LOST_CAUSES(X) \
	X(STRAGGLER, "straggler") \
	X(DATA, "data") \
	X(CHECKPOINT, "checkpoint") \
	X(COMPILE, "compile") \
	X(STALL, "stall") \
	X(RESTART, "restart") /* from the last collective before all ranks were replaced to the first one after */

enum lost_cause {
#define LOST_CAUSE_ID(id, name) LOST_##id,
	LOST_CAUSES(LOST_CAUSE_ID)
#undef LOST_CAUSE_ID
		LOST_CAUSE_COUNT
};

/* Of one process group, incrementally. */
struct lost_group {
	uint64_t next;       /* the sequence number to add next; 0 = none yet */
	uint64_t added;      /* collectives added */
	int64_t released_ns; /* when the last rank entered the one before; 0 = unknown */
	int64_t ended_ns;    /* the same of the newest one before a restart; 0 = there was none */
	double elapsed_s, restart_s;
	double ordinary_s;                                /* elapsed without stalls and restarts */
	uint64_t ordinary;                                /* collectives in that time */
	struct exchange_pair exchanges[LOST_RANKS_MAX];   /* of each rank's delays */
	double seconds[LOST_RANKS_MAX][LOST_CAUSE_COUNT]; /* for which others waited, by the index of the rank */
};

struct lost_who {
	long number; /* −1 = unknown */
	int32_t pid;
};

struct lost_row {
	int rank; /* index of the collectives' rank, or of the run; −1 = all */
	struct lost_who who;
	enum lost_cause cause;
	double seconds;     /* time of ranks: three that wait 2 s lose 6 */
	double share_ratio; /* of rank_seconds */
};

struct lost_time {
	bool is_known;       /* a group has at least 20 collectives, here and below; or lost_steps.h */
	bool is_device;      /* of NCCL: a rank is a GPU */
	double rank_seconds; /* time of all ranks */
	double lost_s;       /* in all rows, also those left out */
	size_t count;        /* most seconds first; those of less than 0.1 % are left out */
	struct lost_row rows[LOST_ROWS_MAX];
	/* Without the delays of this rank, over the newest collectives: its entry times are replaced by the median of the
	 * other ranks' (so it is never the last), and what follows begins earlier. −1: no rank makes 5 %,
	 * or another one is nearly as late. */
	int without;
	struct lost_who without_who;
	double speedup_ratio;
	double step_s; /* of a step then, mean; NAN = no steps are known */
};

struct model;
struct collectives;

const char *lost_cause_name(enum lost_cause cause);
void lost_time_measure(const struct model *model, struct lost_time *out);

/* -- within src/model -- */

/* From which length a delay in this group is a stall. */
double lost_stall_s(const struct lost_group *lost);
void model_refresh_lost_time(struct model *model);
/* `rank_seconds` must be known. */
void lost_add_row(struct lost_time *out, int rank, struct lost_who who, enum lost_cause cause, double seconds);

#endif
