/* runs.h: finds what pmtop can watch on this machine: instrumented runs (live and ended), processes that use a GPU, and
 * Python processes. For list, the picker and -s. */
#ifndef PMTOP_SESSION_RUNS_RUNS_H
#define PMTOP_SESSION_RUNS_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/buffer.h"
#include "src/base/status.h"
#include "src/session/runs/gpu_users.h"

struct run_row {
	pid_t pid;     /* in pmtop's pid namespace; of an ended run, in that of its writer */
	char run[128]; /* empty: not instrumented */
	char rank[16]; /* "0/1", or empty */
	char command[64];
	char path[512]; /* of the region's file */
	uint64_t device, inode;
	bool is_live;
	bool is_elsewhere;       /* live, in a pid namespace that pmtop cannot see; pid is of that namespace */
	char state[48];          /* "train", "validation", "between batches", "ended 14:02", "running" */
	char how[288];           /* how to watch it */
	uint32_t epoch, epochs;  /* ordinal, planned; 0 = unknown */
	uint64_t batch, batches; /* finished in the epoch, planned; 0 = unknown */
	bool has_batch;
	double rate_per_s;     /* over the whole run; NAN */
	double resident_bytes; /* NAN */
	char run_id[200];      /* the same in all ranks of a run; empty: it has no ranks */
	long rank_number;      /* −1: it has no ranks */
	double step_s, own_s;  /* of a rank: means over the whole run; NAN */
	bool is_slowest;       /* of the live ranks of its run */
	size_t gpu_use_count;  /* of it and of its descendants without a row */
	struct gpu_use gpu_uses[GPU_USES_MAX];
};

/* Finds all, the instrumented and live ones first, the ranks of one run together in their order. `users` has the
 * processes that use a GPU; NULL: leave those out. The caller frees *rows, which is NULL if there are none. */
size_t runs_find(const struct gpu_users *users, struct run_row **rows);
/* Prints on standard error what runs_find left out: a line for each file that hangs, and one if there are too many
 * runs. */
void runs_print_left_out(void);
/* Finds a run by its name, or NAME.PID; a live one before an ended one. STATUS_INVALID: several have that name. */
enum status runs_choose(
	const struct run_row *rows, size_t count, const char *name, const struct run_row **out, struct reason *why_not);

#endif
