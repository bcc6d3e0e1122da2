/* ranks.h: the ranks of one run beside each other: which one the others wait for and in which phase, and which one
 * stands still.
 *
 * Two runs are ranks of one where both publish RANK and a WORLD_SIZE above 1, and the same run_id (or none does and
 * they have one name). Ranks that synchronise all show the same step time; what tells them apart is what each does
 * before it waits for the others. Gradients are exchanged inside "backward", or in spans named allreduce,
 * communication, sync or barrier: where step medians agree within 10 %, a rank's *own* time is the step without these;
 * else it is the step. The slowest has the largest own time, if that is above the median of the others' by 5 %, by
 * three standard errors (from the MAD), and by 2 % of the step.
 *
 * Texts are the model's, valid until the next model_apply. Unknown is NAN or NULL. */
#ifndef PMTOP_MODEL_RANKS_RANKS_H
#define PMTOP_MODEL_RANKS_RANKS_H

#include "src/model/model.h"

enum { RANK_STEPS_MIN = 10 }; /* nothing is compared before */
#define RANK_SYNCHRONOUS_RATIO 1.10
#define RANK_SLOWEST_RATIO 0.05

#define RANK_STATES(X) \
	X(STARTING, "starting") /* no batch has ended yet */ \
	X(RUNNING, "running") \
	X(WAITING, "waiting") /* stands still, for another rank */ \
	X(STUCK, "stuck")     /* stands still, and none of the others is why */ \
	X(STOPPED, "stopped") /* its process is (SIGSTOP, a debugger) */ \
	X(ENDED, "ended") \
	X(KILLED, "killed") /* or crashed: it ended without saying so */

enum rank_state {
#define RANK_STATE_ID(id, name) RANK_##id,
	RANK_STATES(RANK_STATE_ID)
#undef RANK_STATE_ID
};

/* id: the name's, in its run */
struct rank_phase {
	const char *name;
	uint32_t id;
	bool is_wait;
	double median_s;
};

struct rank {
	unsigned run; /* index into model->runs */
	long number;
	int32_t pid; /* of one that is over maybe as it was in its own namespace */
	enum rank_state state;
	bool is_compared;        /* with the others: it has enough steps, and lives or all are over */
	uint64_t batches;        /* finished, of the main mode */
	size_t steps;            /* of the last 200, that the medians are made of */
	double step_s, own_s;    /* medians; NAN with fewer than RANK_STEPS_MIN */
	double own_error_s;      /* standard error of the median */
	double last_batch_age_s; /* since its newest batch ended; until its end where it has ended */
	double still_s;          /* since anything began or ended */
	const char *where;       /* the innermost span that is open */
	double loss, resident_bytes;
	int64_t ended_ns;   /* 0 = it lives */
	size_t phase_count; /* outermost ones, largest first */
	struct rank_phase phases[RUN_PHASES_MAX];
};

struct ranks {
	long world_size;
	size_t count; /* ranks that are known here, by number; 0 where the run is no rank of several */
	bool is_compared, is_synchronous;
	int slowest;                                 /* index into list; −1: none stands out, or nothing is compared */
	double excess_s, excess_ratio, others_own_s; /* of its own time, over the median of the others' */
	const char *phase;                           /* that with the largest excess; NULL */
	double phase_s, phase_others_s;
	const char *wait; /* where the others wait for it meanwhile; NULL */
	double wait_s;
	int still;              /* the one that the others wait for for ever: stuck, stopped or killed; −1 */
	const char *still_wait; /* where they do; NULL */
	struct rank list[MODEL_RUNS_MAX];
};

const char *rank_state_name(enum rank_state state);
/* Whether ranks wait for each other in a span of this name, by its words: "backward", "sync gradients". */
bool ranks_is_wait(const char *name);
/* The ranks of the run that this one belongs to. */
void ranks_compare(const struct model *model, unsigned run, struct ranks *out);
/* The first run with ranks, −1 where there is none. */
int ranks_any(const struct model *model);
/* The rank's number; −1 where it is no rank of several. */
long rank_number(const struct run *run);
long rank_world_size(const struct run *run); /* as published; −1 = not */
bool ranks_are_of_one_run(const struct run *a, const struct run *b);
/* All runs in the order of [ and ]: as they were found, the ranks of one by their numbers. Returns how many. */
unsigned ranks_order(const struct model *model, unsigned order[MODEL_RUNS_MAX]);
/* Which run to show where nobody chose: a living one, the target's own, the lowest rank. `accepts` NULL: any. −1:
 * none. */
int ranks_first(
	const struct model *model, bool (*accepts)(const struct run *run, const void *argument), const void *argument);

#endif
