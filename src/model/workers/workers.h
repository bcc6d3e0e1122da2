/* workers.h: the DataLoader workers of runs, with totals since pmtop attached. A worker is known by the small region
 * that it publishes, by its process, or by both; it is never a run.
 *
 * A fetch is the work on one batch of the DataLoader. Its items are the samples of that batch. The time of an item is
 * the fetch time divided by the number of items: quantiles are those of the fetches. */
#ifndef PMTOP_MODEL_WORKERS_WORKERS_H
#define PMTOP_MODEL_WORKERS_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/run/run.h"

struct model;
struct process;

enum { WORKERS_MAX = 160, WORKER_SPANS_MAX = 8, WORKER_NAME_SIZE = 64 };

/* The window of busy ratios and rates, in seconds. */
#define WORKER_WINDOW_S 5

struct worker_time {
	char name[WORKER_NAME_SIZE];
	uint64_t count;
	double total_s, share_ratio; /* of the time of all fetches; above 1 if several threads work */
};

/* Totals of completed fetches. */
struct worker_work {
	uint64_t fetches, failed;
	double items;               /* NAN = not published */
	struct figures fetch, item; /* seconds; `item` has no last_s, and its count is exact up to 2^53 */
	double item_p5_s;
	size_t span_count;
	struct worker_time spans[WORKER_SPANS_MAX];
};

/* A worker that publishes a region. */
struct worker {
	int32_t pid, owner;                            /* owner: the process of its run; 0 = unknown */
	uint32_t id, count;                            /* UINT32_MAX, 0 = unknown */
	bool is_gone;                                  /* it died early; retained until another one takes its place */
	char ended[64];                                /* the reason */
	int64_t start_ns, fetch_begin_ns;              /* fetch_begin_ns 0: it is idle */
	struct worker_work work;                       /* since it started */
	double busy_ratio, fetches_per_s, items_per_s; /* NAN while unknown */
};

/* All workers that one process has had since pmtop attached, including ended ones. */
struct worker_group {
	int32_t owner;
	uint64_t seen, died; /* died: ended early */
	struct worker_work work;
};

enum worker_state { WORKER_BUSY, WORKER_IDLE, WORKER_DISK, WORKER_STOPPED, WORKER_SLEEPING, WORKER_GONE };

/* A worker to show. At least one of the two pointers is set. */
struct worker_shown {
	/* NULL: it publishes nothing, and is busy if it runs, else sleeping */
	const struct worker *worker;
	const struct process *process; /* NULL: ended, or not seen yet */
	enum worker_state state;
};

/* NULL: none of its workers has published. */
const struct worker_group *model_worker_group(const struct model *model, int run);

/* Current figures of a worker group. */
struct worker_group_now {
	unsigned count, published, states[WORKER_GONE + 1]; /* count: without ended ones */
	double busy_ratio;                                  /* mean over those that publish; NAN = unknown */
	double resident_bytes;                              /* sum over those whose process is known */
	/* the one that has waited for the disk the longest; NULL = none */
	const struct worker_shown *on_disk;
	double on_disk_s;
};
/* Load of a group's processes in the last 10 s, as far as known: means over processes, but read_bytes_per_s is the sum.
 * NAN = unknown. */
struct worker_group_load {
	unsigned known;
	double cpu_ratio; /* 1 = one CPU each */
	/* shares of the time waiting for the disk (state D), and for a CPU */
	double disk_ratio, queue_ratio;
	double read_bytes_per_s;
};

/* -- within src/model -- */

struct record;

void model_init_workers(struct model *model);
void model_free_workers(struct model *model);
void model_take_worker(struct model *model, const struct record *record);
void model_lose_worker(struct model *model, const struct record *record);

/* After a set, and after model_refresh_processes. */
void model_refresh_workers(struct model *model);

#endif
