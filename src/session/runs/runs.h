/* runs.h: what can be watched on this machine: published runs (live and left by the dead), those who use a GPU and
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
	pid_t pid;     /* as we see it; of an ended run, as its writer saw it */
	char run[128]; /* empty: nothing published */
	char rank[16]; /* "0/1", or empty */
	char command[64];
	char path[512]; /* of the region's file */
	uint64_t device, inode;
	bool is_live;
	bool is_elsewhere;       /* live, in a pid namespace that is not seen from here: pid is what it is there */
	char state[48];          /* "train", "validation", "between batches", "ended 14:02", "running" */
	char how[288];           /* how it can be watched */
	uint32_t epoch, epochs;  /* ordinal, planned; 0 = unknown */
	uint64_t batch, batches; /* finished in the epoch, planned; */
	bool has_batch;
	double rate_per_s;     /* over the whole run; NAN */
	double resident_bytes; /* NAN */
	char run_id[200];      /* the same in all ranks of a run; empty: it is none of several */
	long rank_number;      /* −1 likewise */
	double step_s, own_s;  /* of a rank: means over the whole run; NAN */
	bool is_slowest;       /* of the ranks of its run that live */
	size_t gpu_use_count;  /* of it and the processes below it that have no row of their own */
	struct gpu_use gpu_uses[GPU_USES_MAX];
};

/* All of them, the published and live ones first, the ranks of one run together and in their order. `users` says who
 * uses a GPU; NULL: nobody asks. *rows is the caller's to free; 0 with NULL when there are none. */
size_t runs_find(const struct gpu_users *users, struct run_row **rows);
/* On standard error, what runs_find left out: a line for each file that did not answer, and one where there are too
 * many runs. */
void runs_print_left_out(void);
/* By run name, or NAME.PID; a live one before an ended one. STATUS_NOT_FOUND, or STATUS_INVALID when several have that
 * name. */
enum status runs_choose(
	const struct run_row *rows, size_t count, const char *name, const struct run_row **out, struct reason *why_not);

#endif
