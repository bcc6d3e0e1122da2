/* workers_private.h: what workers.c keeps of workers, and workers_shown.c makes of it. */
#ifndef PMTOP_MODEL_WORKERS_WORKERS_PRIVATE_H
#define PMTOP_MODEL_WORKERS_WORKERS_PRIVATE_H

#include "src/base/histogram.h"
#include "src/model/model_private.h"
#include "src/model/workers/workers.h"

enum { CREWS_MAX = 64, WORKER_MOMENTS = 32, WORKER_IDS = 256 };

/* What it had done by then; what runs counts up to then. */
struct worker_moment {
	int64_t time_ns;
	double busy_s, items;
	uint64_t fetches;
};

struct worker_retained {
	struct worker worker;
	unsigned source_id; /* as in the records */
	bool is_emitted_gone;
	int64_t gone_ns;
	bool was_fetching; /* when it died */
	double total_s;    /* of finished fetches */
	size_t moment_count, newest;
	struct worker_moment moments[WORKER_MOMENTS];
	uint32_t histogram[HISTOGRAM_BUCKETS];
};

struct worker_group_retained {
	struct worker_group worker_group;
	uint32_t histogram[HISTOGRAM_BUCKETS];
};

struct workers {
	size_t count, worker_group_count;
	struct worker_retained *retained[WORKERS_MAX]; /* in the order in which they came */
	struct worker_group_retained *worker_groups[CREWS_MAX];
	bool is_changed;                       /* who there is */
	uint64_t tree_version, living_version; /* what they were found for */
	size_t shown_count;
	struct worker_shown shown[WORKERS_MAX]; /* by owner */
	int32_t owners[WORKERS_MAX];
	size_t living_count;
	struct living {
		int32_t pid;
		uint32_t at;
	} living[PROCESSES_MAX];               /* the model's processes, by pid */
	int32_t process_owners[PROCESSES_MAX]; /* as the model's processes */
};

/* NULL: out of memory, or the model was made by hand. */
static inline struct workers *workers_of(const struct model *model)
{
	return model->private ? model->private->workers : NULL;
}

/* The process whose run a process works for: its nearest ancestor that publishes one, else the target; 0 = not
 * known. */
int32_t model_owner(const struct model *model, int32_t pid);
/* Who is shown, and in which state. */
void model_show_workers(struct model *model);

#endif
