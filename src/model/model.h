/* model.h: the state of the target: processes, memory, runs, hardware. It depends only on sample sets, so the same sets
 * give the same model.
 *
 * The main thread owns it. All rates, quantiles, trends and histories are computed here; widgets store none. */
#ifndef PMTOP_MODEL_MODEL_H
#define PMTOP_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/code/code.h"
#include "src/model/code/loops.h"
#include "src/model/energy/energy.h"
#include "src/model/gpus/gpus.h"
#include "src/model/machine/perf.h"
#include "src/model/machine/system.h"
#include "src/model/missing.h"
#include "src/model/run/run.h"
#include "src/model/statistics/series.h"
#include "src/model/workers/workers.h"
#include "src/samples/sample_set.h"

enum { MODEL_RUNS_MAX = 64, MODEL_MISSING_MAX = 32 };

struct collectives;
struct ras;

struct model_options { /* from the settings; model_options_default() sets the defaults, for tests */
	double flag_mad, flag_ratio;
	unsigned flag_after, flag_window, warmup_max;
	double sla_s;          /* a longer request violates the SLA; default 2 */
	double grid_g_per_kwh; /* grams of CO₂ per kWh of electricity; NAN = unknown */
	size_t batch_capacity; /* batches retained per track, with their phases; default 8192 */
};
void model_options_default(struct model_options *options);

/* Series of the target process: gauges, and rates of counters. */
#define PROCESS_SERIES(X) \
	X(resident) \
	X(anonymous) \
	X(file) \
	X(shared) \
	X(swap)      /* bytes */ \
	X(cpu_ratio) /* 1 = one core */ \
	X(run_queue_wait_ratio) \
	X(major_faults_per_s) \
	X(minor_faults_per_s) \
	X(forced_switches_per_s) \
	X(read_bytes_per_s) \
	X(write_bytes_per_s)

/* Series of the process tree, in bytes: sum of the resident sets; anonymous memory including swap; mapped files and
 * shared memory of the process that has most of each. */
#define TREE_SERIES(X) \
	X(tree_resident) \
	X(tree_anonymous) \
	X(tree_file) \
	X(tree_shared)

struct process {
	int32_t pid, parent;
	uint64_t start_ticks;
	char command[128];
	bool is_target, is_gone;
	int64_t seen_ns, gone_ns;
	double now[PROCESS_METRICS]; /* latest value of each metric; NAN = never read */
	/* rates between the last two readings; NAN = unknown */
	double cpu_ratio, run_queue_wait_ratio, read_bytes_per_s, write_bytes_per_s, major_faults_per_s;
	double
		grown_bytes; /* growth of its anonymous memory, since the warm-up or in the last ten minutes; NAN = unknown */
	char wait[48];   /* kernel function it sleeps in (wchan); empty = none or unknown */
	double state_since_s;     /* time in this state, as far as observed; NAN = unknown */
	int32_t local_rank;       /* LOCAL_RANK in its environment; −1 = not set, or not read */
	bool has_visible_devices; /* CUDA_VISIBLE_DEVICES (or its equivalent) is set, to visible_devices, which may be empty
							   */
	char visible_devices[128];
};

/* Memory of the process tree. The verdict is renewed once per second, over the time since the warm-up, ten minutes at
 * most (the window).
 *
 * It judges memory that the kernel cannot reclaim: anonymous memory including swap, and shared memory. Pages shared by
 * several processes count once. Of a child counts what it has beyond its memory at its start. Of shared memory counts
 * what /dev/shm holds, if that agrees with the processes' figures; or the cgroup's shared memory, if no process maps
 * it and it grows with the batches; else that of the process with most. If the run owns its cgroup, the cgroup's
 * figures are used. Without figures by kind, resident sets are used. "Noticeable" is 0.5 % of the tree's resident set,
 * at least 4 MB. "The last third" is that of the window.
 *
 *   growing        after 4 s or more, even the low end of the slope's interval exceeds the noticeable over the window
 *   leak           growing for 15 s or more, by 16 MB and 1 % of the tree since the warm-up, in the last third at half
 *                  the whole slope or more, without falling back, and for long enough to exclude a cache that is being
 *                  filled: the second epoch began before the last third, or the growth has lasted for half an hour.
 *                  Without published epochs: a minute and 200 batches, or, without batches, five minutes
 *   cache          only mapped files, or the cgroup's page cache, grow; or memory grew steadily during the first epoch
 *                  and not since
 *   sawtooth       it rises and falls by more than the noticeable at least three times, with similar periods and longer
 *                  rises than falls, and its lows do not rise
 *   plateau        after 10 s or more, even the high end of the interval is below the noticeable; or, after 30 s, that
 *                  of the last third is, with less than a quarter of the whole slope
 *   fragmentation  only if the program publishes the gauge heap.allocated_bytes: anonymous memory is above twice that
 *                  and 256 MB more, the gauge was once half as large again, and nothing grows
 *   unknown        none of these */
struct memory {
	double rss_bytes, peak_rss_bytes; /* of the target process */
	double anonymous_bytes, file_bytes, shared_bytes, swap_bytes;
	/* sum over the process tree: an upper bound, because shared pages count once per process */
	double tree_rss_bytes, tree_peak_bytes;
	double tree_anonymous_bytes, tree_file_bytes, tree_shared_bytes; /* as in TREE_SERIES */
	double shm_others_growth_bytes; /* growth of files in /dev/shm that are not the run's; NAN = they do not grow */
	/* of the judged memory, since the warm-up (or since pmtop attached); NAN = unknown */
	double growth_bytes;
	int64_t growth_since_ns; /* 0 while unknown */
	/* of the judged memory, or of files if the verdict is cache because files grow; points 0 = unknown */
	struct slope slope;
	double slope_per_batch; /* bytes per batch; NAN = unknown */
	double slope_per_batch_low, slope_per_batch_high;
	double growth_per_epoch;  /* bytes an epoch; NAN */
	int64_t growing_since_ns; /* when the verdict growing or leak began; 0 = neither */
	/* what grows the most: "main process", "rank 3", "worker 4711", "3 workers", "cc1plus 4711", "/dev/shm", "shared
	 * memory", "copies on write", "mapped files", "page cache"; and of which kind; empty and
	 * MEMORY_KIND_NONE = nothing does, or not known */
	char grower[48];
	enum memory_kind grower_kind;
	int32_t grower_pid;        /* 0 = no single process */
	bool grower_is_main;       /* the process that runs the loop */
	double grower_share_ratio; /* of the growth; NAN */
	/* the growing shared memory is in files that no process of the run maps: it grows with the batches */
	bool is_unmapped;
	/* the nearest limit: the cgroup's or the machine's (for growing shared memory, also that of /dev/shm), and the time
	 * until it is reached at this slope, only for the verdicts growing and leak. NAN = unknown */
	double limit_bytes, limit_room_bytes, limit_in_s;
	const char *limit; /* "machine", "cgroup", "/dev/shm"; NULL */
	/* A spike: the tree's memory rose by a quarter and 100 MB above the median of the last readings and fell back
	 * within 10 s; or only the kernel's peak of the target shows it. */
	double spike_bytes; /* height of the latest, above the baseline; NAN = none yet */
	int64_t spike_ns;   /* its time */
	unsigned spikes;    /* in the last five minutes; 16 at most */
	enum memory_verdict verdict;
};

struct model {
	struct model_options options;
	int64_t now_ns;   /* time of the latest set */
	int64_t first_ns; /* time of the first set: when pmtop attached */
	double refresh_s; /* running mean of the time between sets; NAN = unknown */
	bool has_target;
	int32_t target_pid;
	char command[128]; /* of the target: "train.py" */
	bool target_ended;
	int64_t target_ended_ns;
	/* why, as `pmtop why-died` says it: set by the session, for what it watches itself */
	struct {
		const char *cause; /* "oom_kill"; static; NULL = not judged */
		char brief[32];    /* "oom kill"; empty: finished, or unknown */
		char message[480];
		int status; /* as waitpid returns it; −1 = unknown */
	} end;
	char note[160];       /* the latest event of the target: "process replaced itself" …; may be empty */
	size_t process_count; /* of the process tree; ended ones stay for two minutes, or until their slot is needed */
	struct process *processes;
	struct memory memory;
	struct system system;
	struct gpus gpus;
	struct perf perf;
	struct code code;
	struct loops loops;
	struct energy energy;
	struct collectives *collectives; /* NULL: none were read */
	struct ras *ras;                 /* NULL: NCCL has not answered */
#define PROCESS_SERIES_MEMBER(name) struct series *name;
	struct {
		PROCESS_SERIES(PROCESS_SERIES_MEMBER) TREE_SERIES(PROCESS_SERIES_MEMBER)
	} series;
#undef PROCESS_SERIES_MEMBER
	struct {
		double cpu_ratio, memory_bytes;
	} self; /* NAN while unknown */
	size_t missing_count;
	struct missing missing[MODEL_MISSING_MAX];
	uint64_t sets_failed; /* sample sets that ran out of memory */
	/* of the recording being replayed, so far; set by its reader */
	uint64_t damaged_blocks, damaged_bytes;
	unsigned run_count; /* runs[0 … run_count − 1] in the order in which they were found */
	struct run *runs;
	struct model_private *priv;
};

/* NULL: out of memory. */
struct model *model_new(const struct model_options *options);
void model_free(struct model *model);
void model_apply(struct model *model, const struct sample_set *set);
/* Flags or unflags a batch manually. False: the batch is no longer retained. */
bool model_flag(struct model *model, unsigned run, unsigned track, uint64_t ordinal, bool flagged);

#endif
