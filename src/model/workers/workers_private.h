/* workers_private.h: internal state of workers, shared by workers.c and workers_shown.c. */
#ifndef PMTOP_MODEL_WORKERS_WORKERS_PRIVATE_H
#define PMTOP_MODEL_WORKERS_WORKERS_PRIVATE_H

#include "src/base/histogram.h"
#include "src/model/model_private.h"
#include "src/model/workers/workers.h"

enum { WORKER_GROUPS_MAX = 64, WORKER_MOMENTS = 32, WORKER_IDS = 256 };

/* A worker's totals at a time, including the fetch in progress. */
struct worker_moment {
	int64_t time_ns;
	double busy_s, items;
	uint64_t fetches;
};

struct worker_retained {
	struct worker worker;
	unsigned source_id; /* as in the records: record.run */
	bool is_emitted_gone;
	int64_t gone_ns;
	bool was_fetching; /* in a fetch when it died */
	double total_s;    /* of completed fetches */
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
	struct worker_retained *retained[WORKERS_MAX]; /* in order of arrival */
	struct worker_group_retained *worker_groups[WORKER_GROUPS_MAX];
	bool is_changed;                       /* the list of workers */
	uint64_t tree_version, living_version; /* the tree_version of `shown`, and of `living` */
	size_t shown_count;
	struct worker_shown shown[WORKERS_MAX]; /* sorted by owner */
	int32_t owners[WORKERS_MAX];
	size_t living_count;
	struct living {
		int32_t pid;
		uint32_t at;
	} living[PROCESSES_MAX];               /* running processes, sorted by pid */
	int32_t process_owners[PROCESSES_MAX]; /* same indexes as model->processes */
};

/* NULL: out of memory, or the model was built by a test. */
static inline struct workers *workers_of(const struct model *model)
{
	return model->priv ? model->priv->workers : NULL;
}

#endif
