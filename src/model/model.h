/* model.h: what pmtop knows: processes, memory, runs. Made from sample sets alone, so the same sets give the same model.
 *
 * The main thread owns it. Rates, quantiles and trends are made here and nowhere else; history belongs here, never to a widget. */
#ifndef PMTOP_MODEL_MODEL_H
#define PMTOP_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/run.h"
#include "src/model/series.h"
#include "src/model/system.h"
#include "src/model/workers.h"
#include "src/samples/sample_set.h"

enum { MODEL_RUNS_MAX = 64, MODEL_MISSING_MAX = 32 };

struct model_options {           /* from settings; model_options_default(): their defaults, for tests */
	double flag_mad, flag_ratio;
	unsigned flag_after, flag_window, warmup_most;
	size_t batch_capacity;       /* batches kept per track with their phases; default 8192 */
};
void model_options_default(struct model_options *options);

/* A counter's rate, and a gauge, as series of the target process. Kept from what the process source reports. */
#define PROCESS_SERIES(X) \
	X(resident) X(anonymous) X(file) X(shared) X(swap)                 /* bytes */ \
	X(cpu_ratio)                                                       /* 1 = one core */ \
	X(run_queue_wait_ratio) X(major_faults_per_s) X(minor_faults_per_s) X(forced_switches_per_s) \
	X(read_bytes_per_s) X(write_bytes_per_s)

struct process {
	int32_t pid, parent;
	uint64_t start_ticks;
	char command[128];
	bool is_target, is_gone;
	int64_t seen_ns, gone_ns;
	double now[METRIC_COUNT];    /* last value of each metric; NAN = never read */
	double cpu_ratio, run_queue_wait_ratio, read_bytes_per_s, write_bytes_per_s, major_faults_per_s;   /* between the last two readings; NAN */
	char wait[48];               /* where the kernel lets it wait (wchan); empty = nowhere, or not known */
	double state_since_s;        /* how long it has been in this state, as far as was seen; NAN */
};

struct memory {
	double rss_bytes, peak_rss_bytes;               /* of the target process */
	double anonymous_bytes, file_bytes, shared_bytes, swap_bytes;
	double tree_rss_bytes, tree_peak_bytes;         /* sum over the tree: an upper bound, shared pages count once per process */
	double growth_bytes;                            /* of the tree since the warm-up (or since pmtop attached); NAN while unknown */
	int64_t growth_since_ns;                        /* 0 while unknown */
	struct slope slope;                             /* of the tree's resident set; points 0 = not known */
	double slope_per_batch;                         /* bytes a batch; NAN */
	double slope_per_batch_low, slope_per_batch_high;
	double growth_per_epoch;                        /* bytes an epoch; NAN */
	/* what grows the most: "trainer", "worker 4711", "/dev/shm", "page cache"; and of which kind: "anonymous", "file", "shared"; empty = nothing does, or not known */
	char grower[48];
	const char *grower_kind;
	double grower_share_ratio;                      /* of the growth; NAN */
	/* the nearest limit: the cgroup's or the machine's; when it is reached if the slope goes on */
	double limit_bytes, limit_room_bytes, limit_in_s;       /* NAN = none is known, or it does not grow */
	const char *limit;                              /* "machine", "cgroup", "/dev/shm"; NULL */
	/* growing, plateau, unknown (the others come with the rules for them). Over the window of the slope: growing where, after 4 s or more,
	 * even the low end of the slope's interval makes more than the noticeable; plateau where, after 10 s or more, even its high end makes
	 * less; else unknown. Noticeable: 0.5 % of the tree's resident set, at least 4 MB. The slope is renewed once a second. */
	const char *verdict;
};

struct missing { char figure[48], text[160], remedy[160]; };

struct model {
	struct model_options options;
	int64_t now_ns;              /* of the newest set */
	int64_t first_ns;            /* of the first set: since when pmtop watches */
	bool has_target;
	int32_t target_pid;
	char command[128];           /* of the target: "train.py" */
	bool target_ended;
	int64_t target_ended_ns;
	char note[160];              /* the newest thing to be told about the target: "process replaced itself" …; empty */
	size_t process_count;        /* of the tree; gone ones stay until the room is needed */
	struct process *processes;
	struct memory memory;
	struct system system;
#define PROCESS_SERIES_MEMBER(name) struct series *name;
	struct { PROCESS_SERIES(PROCESS_SERIES_MEMBER) struct series *tree_resident; } series;
#undef PROCESS_SERIES_MEMBER
	struct { double cpu_ratio, memory_bytes; } self;       /* NAN while unknown */
	size_t missing_count;
	struct missing missing[MODEL_MISSING_MAX];
	uint64_t sets_failed;        /* sample sets that ran out of memory */
	unsigned run_count;          /* runs[0 … run_count − 1] in the order they were found */
	struct run *runs;
	struct model_private *private;
};

/* NULL when out of memory. */
struct model *model_new(const struct model_options *options);
void model_free(struct model *model);
void model_apply(struct model *model, const struct sample_set *set);
/* Flags or unflags a batch by hand. False where it is not kept. */
bool model_flag(struct model *model, unsigned run, unsigned track, uint64_t ordinal, bool flagged);

const struct process *model_target(const struct model *model);     /* NULL: none seen yet */

#endif
