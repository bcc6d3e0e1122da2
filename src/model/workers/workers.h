/* workers.h: the loader workers of runs, and what pmtop saw them do in all. A worker is known by the small region that
 * it publishes into, by its process alone, or by both; it is never a run.
 *
 * A fetch is one turn of a worker: it makes what the loader hands out as one batch. Its items are the samples in it.
 * The time of an item is that of its fetch, shared out evenly: quantiles are those of the fetches. */
#ifndef PMTOP_MODEL_WORKERS_WORKERS_H
#define PMTOP_MODEL_WORKERS_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/run/run.h"

struct model;
struct process;

enum { WORKERS_MAX = 160, WORKER_SPANS_MAX = 8, WORKER_NAME_SIZE = 64 };

/* Busy shares and rates are those of the last so many seconds. */
#define WORKER_WINDOW_S 5

struct worker_time {
	char name[WORKER_NAME_SIZE];
	uint64_t count;
	double total_s, share_ratio; /* of the time of all fetches; beyond 1 where several threads work */
};

/* What was done in finished fetches. */
struct worker_work {
	uint64_t fetches, failed;
	double items;               /* NAN where workers do not say */
	struct figures fetch, item; /* seconds; of an item no last, and no count beyond 2^53 */
	double item_p5_s;
	size_t span_count;
	struct worker_time spans[WORKER_SPANS_MAX];
};

/* A worker that publishes. */
struct worker {
	int32_t pid, owner;                            /* owner: the process whose run it works for; 0 = not known */
	uint32_t id, count;                            /* UINT32_MAX, 0 = not known */
	bool is_gone;                                  /* it died before it was done; kept until another takes its place */
	char ended[64];                                /* why */
	int64_t start_ns, fetch_begin_ns;              /* fetch_begin_ns 0: it waits for work */
	struct worker_work work;                       /* since it started */
	double busy_ratio, fetches_per_s, items_per_s; /* NAN while unknown */
};

/* All workers that one process had while pmtop watched, those that ended included. */
struct worker_group {
	int32_t owner;
	uint64_t seen, died; /* died: before they were done */
	struct worker_work work;
};

enum worker_state { WORKER_BUSY, WORKER_IDLE, WORKER_DISK, WORKER_STOPPED, WORKER_SLEEPING, WORKER_GONE };

/* A worker as it is shown. At least one of both is there. */
struct worker_shown {
	/* NULL: it publishes nothing; then it is busy where it runs, sleeping where not */
	const struct worker *worker;
	const struct process *process; /* NULL: gone, or not seen yet */
	enum worker_state state;
};

/* Those of a run (−1: of the whole tree), by id, then by pid; *count of them, at most WORKERS_MAX. Valid until the
 * next model_apply. */
const struct worker_shown *model_workers(const struct model *model, int run, size_t *count);
/* NULL: none of its workers ever published. */
const struct worker_group *model_worker_group(const struct model *model, int run);

/* How it goes now. */
struct worker_group_now {
	unsigned count, published, states[WORKER_GONE + 1]; /* count: without the gone */
	double busy_ratio;                                  /* mean of those that publish; NAN */
	double resident_bytes;                              /* of those whose process is known */
	/* the one that waits for the disk the longest; NULL = none */
	const struct worker_shown *on_disk;
	double on_disk_s;
};
void model_worker_group_now(const struct model *model, int run, struct worker_group_now *out);
/* What they did in the last 10 s, as far as their processes were read: means over them; bytes of all. NAN = not
 * known. */
struct worker_group_load {
	unsigned known;
	double cpu_ratio; /* 1 = a CPU each */
	/* shares of their time in which they waited for the disk (state D), and for a CPU */
	double disk_ratio, queue_ratio;
	double read_bytes_per_s;
};
void model_worker_group_load(const struct model *model, int run, struct worker_group_load *out);
/* "busy", "idle", "disk", "stopped", "sleeping", "gone". */
const char *worker_state_name(enum worker_state state);

#endif
