/* ranks.h: compares the ranks of one run: which rank is the slowest, in which phase, and which rank hangs.
 *
 * Two runs are ranks of one run if both publish RANK and a WORLD_SIZE above 1, and the same run_id (or neither
 * publishes one, and both name and WORLD_SIZE are equal). Ranks that synchronise have the same step time; they differ
 * in what they do before they wait for the others. Gradients are exchanged inside "backward", or in spans named
 * allreduce, communication, sync or barrier. So if the step medians agree within 10 %, the *own* time of a rank is the
 * step without these spans; else it is the step. Of processes that were never seen to synchronise none is the slowest.
 * The slowest rank is the one with the largest own time, if that exceeds the median of the others by 5 %, by three
 * standard errors (from the MAD), and by 2 % of the step.
 *
 * Texts belong to the model and are valid until the next model_apply. NAN or NULL = unknown. */
#ifndef PMTOP_MODEL_RANKS_RANKS_H
#define PMTOP_MODEL_RANKS_RANKS_H

#include "src/model/model.h"

enum { RANK_STEPS_MIN = 10 }; /* ranks with fewer steps are not compared */
#define RANK_SYNCHRONOUS_RATIO 1.10
#define RANK_SLOWEST_RATIO 0.05

#define RANK_STATES(X) \
	X(STARTING, "starting") /* no batch has ended yet */ \
	X(RUNNING, "running") \
	X(WAITING, "waiting") /* hangs, waiting for another rank */ \
	X(STUCK, "stuck")     /* hangs, and not because of another rank */ \
	X(STOPPED, "stopped") /* its process is stopped (SIGSTOP, a debugger) */ \
	X(ENDED, "ended") \
	X(KILLED, "killed") /* or crashed: it ended without closing its region */

enum rank_state {
#define RANK_STATE_ID(id, name) RANK_##id,
	RANK_STATES(RANK_STATE_ID)
#undef RANK_STATE_ID
};

/* id: of the name, in its run */
struct rank_phase {
	const char *name;
	uint32_t id;
	bool is_wait;
	double median_s;
};

struct rank {
	unsigned run; /* index into model->runs */
	long number;
	int32_t pid; /* of an ended rank, possibly the pid in its own namespace */
	enum rank_state state;
	bool is_compared;        /* it has enough steps, and it is running or all have ended */
	uint64_t batches;        /* completed, of the main mode */
	size_t steps;            /* number of steps in the medians, 200 at most */
	double step_s, own_s;    /* medians; NAN with fewer than RANK_STEPS_MIN */
	double own_error_s;      /* standard error of the median */
	double last_batch_age_s; /* since its latest batch ended, until now or its end */
	double still_s;          /* time since any batch or epoch began or ended */
	const char *where;       /* the innermost open span */
	double loss, resident_bytes;
	int64_t ended_ns;   /* 0 = it is running */
	size_t phase_count; /* outermost phases, largest first */
	struct rank_phase phases[RUN_PHASES_MAX];
};

struct ranks {
	long world_size;
	size_t count; /* known ranks, sorted by number; 0 = the run is not one of several ranks */
	bool is_compared, is_synchronous;
	int slowest;                                 /* the slowest rank, index into list; −1 = none, or not compared */
	double excess_s, excess_ratio, others_own_s; /* of its own time over the median of the others */
	const char *phase;                           /* the phase with the largest excess; NULL */
	double phase_s, phase_others_s;
	const char *wait; /* the phase in which the others wait for it; NULL */
	double wait_s;
	int still;              /* the rank on which the others hang: stuck, stopped or killed; −1 = none */
	const char *still_wait; /* the span in which they hang; NULL */
	struct rank list[MODEL_RUNS_MAX];
};

const char *rank_state_name(enum rank_state state);
/* Do ranks wait for each other in a span of this name? Decided by its words: "backward", "sync gradients". */
bool ranks_is_wait(const char *name);
/* One step of the main mode; NAN = unknown, or not of the steady state. wait_s: in spans in which ranks wait. */
struct rank_step {
	double step_s, wait_s;
	const struct batch *batch;
};
/* The steps with the ordinals from, …, from + count − 1. */
void ranks_steps(const struct run *run, uint64_t from, size_t count, struct rank_step *out);
/* When any batch or epoch of the process last began or ended, in any mode; 0 = never. */
int64_t ranks_moved_ns(const struct model *model, int32_t pid);
/* Compares the ranks of the run that this one belongs to. */
void ranks_compare(const struct model *model, unsigned run, struct ranks *out);

#endif
