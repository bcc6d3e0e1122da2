/* fleet_view.h: all ranks of the fleet, each compared with the others, in the order that a person chose.
 *
 * `is_synchronous`: the mean steps of nine ranks in ten agree within 10 %, as they do where ranks wait for each
 * other; then ranks are compared by their own time (the step without the spans in which they wait), else by the step.
 */
#ifndef PMTOP_FLEET_FLEET_VIEW_H
#define PMTOP_FLEET_FLEET_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/fleet/fleet.h"

/* In the order of need: those before RUNNING come first when sorted by slowness. */
#define FLEET_RANK_STATES(X) \
	X(STUCK, "stuck")       /* no batch has begun or ended for 10 steps and 5 s, outside spans that wait */ \
	X(STOPPED, "stopped")   /* SIGSTOP, a debugger */ \
	X(KILLED, "killed")     /* or crashed */ \
	X(SILENT, "no samples") /* its host is silent or ended */ \
	X(WAITING, "waiting")   /* as stuck, in a span in which ranks wait for each other */ \
	X(RUNNING, "running") \
	X(STARTING, "starting") /* no step yet */ \
	X(ENDED, "ended")

enum fleet_rank_state {
#define FLEET_RANK_STATE_ID(id, name) FLEET_RANK_##id,
	FLEET_RANK_STATES(FLEET_RANK_STATE_ID)
#undef FLEET_RANK_STATE_ID
};

#define FLEET_SORTS(X) \
	X(SLOWEST, "slowest") \
	X(RANK, "rank") \
	X(HOST, "host") \
	X(WAIT, "wait") \
	X(LATE, "late") \
	X(MEMORY, "memory") \
	X(LOST, "lost time") \
	X(GPU, "GPU, least busy first")

enum fleet_sort {
#define FLEET_SORT_ID(id, name) FLEET_SORT_##id,
	FLEET_SORTS(FLEET_SORT_ID)
#undef FLEET_SORT_ID
		FLEET_SORT_COUNT
};

/* How far a figure is above the median of all ranks: what the heat map draws. */
enum fleet_heat {
	FLEET_HEAT_NONE,
	FLEET_HEAT_USUAL,
	FLEET_HEAT_WARM,
	FLEET_HEAT_SLOW,
	FLEET_HEAT_HOT,
	FLEET_HEAT_COUNT
};

struct fleet_row {
	const struct fleet_host *host;
	const struct fleet_rank *rank;
	enum fleet_rank_state state;
	bool has_steps, is_alike;             /* is_alike: its mean step is within 10 % of the median of all */
	uint64_t step;                        /* newest batch */
	double step_s, own_s, wait_s, data_s; /* means of the newest steps; NAN = unknown */
	double wait_ratio;                    /* wait_s ÷ step_s; NAN */
	double lost_s, lost_ratio;            /* time in which ranks waited for it; of the time of all ranks; NAN */
	double ratio;                         /* of what is compared, to the median of all ranks; NAN */
	double late_s;  /* how much later it begins a step than the first rank; median of up to eight steps; NAN */
	double still_s; /* since its newest event; NAN */
};

struct fleet_due {
	double own_s;
	size_t row;
};

struct fleet_view {
	struct fleet_row *rows;
	size_t count, capacity;
	bool is_synchronous;
	double median_s, median_step_s; /* of what is compared; of the step */
	size_t host_states[FLEET_HOST_STATE_COUNT];
	size_t problem_count; /* ranks with a state before RUNNING */
	double clock_error_s; /* the largest of all hosts; NAN = unknown */
	double lost_ratio;    /* of all ranks; NAN = unknown */
	double *values;       /* private */
	struct fleet_due *dues;
};

const char *fleet_rank_state_name(enum fleet_rank_state state);
const char *fleet_sort_name(enum fleet_sort sort);
/* Whether the state needs a person's attention. */
bool fleet_rank_is_problem(enum fleet_rank_state state);
/* False: out of memory, and the view is empty. */
bool fleet_view_fill(struct fleet_view *view, const struct fleet *fleet, enum fleet_sort sort, int64_t now_ns);
void fleet_view_release(struct fleet_view *view);
/* The heat of ranks rows[from … from + count − 1] in one column (a second), relative to the median of all ranks. */
void fleet_view_column(struct fleet_view *view, int64_t column, size_t from, size_t count, enum fleet_heat *out);
/* "rank 13", or "pid 4711" where the rank is unknown. */
const char *fleet_row_name(const struct fleet_row *row, char *out, size_t size);

#endif
