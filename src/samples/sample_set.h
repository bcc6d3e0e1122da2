/* sample_set.h: the one seam. Whatever pmtop knows of the world arrives in the model as sample sets; live, recorded and
 * remote runs feed it the same ones. A source appends records; the model applies them in the order of the set.
 *
 * Times are CLOCK_MONOTONIC nanoseconds *of pmtop's own time namespace*: a source converts at the door. Texts are
 * cleaned at the door (text_clean), so no later layer meets a control character. A figure that could not be read is not
 * appended (RECORD_MISSING says why). All storage belongs to the set; texts and rows live until sample_set_clear. */
#ifndef PMTOP_SAMPLES_SAMPLE_SET_H
#define PMTOP_SAMPLES_SAMPLE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/histogram.h"
#include "src/samples/metric.h"

/* What a total, a bin or a batch figure counts. */
enum total_kind { TOTAL_BATCH, TOTAL_STEP, TOTAL_SPAN };

/* The region's running totals of one (kind, mode, name, parent) in one lane, since the start of the run. */
struct total_row {
	enum total_kind kind;
	uint32_t mode;         /* name id; 0 = none published */
	uint32_t name, parent; /* name ids; spans only; parent 0 = outermost */
	uint32_t depth;        /* 0 = outermost; the least seen */
	uint64_t upto;         /* events of this lane with a sequence below this are included */
	uint64_t count;
	double total_s, self_s, min_s, max_s, last_s, squares_s2;
	double cpu_s;        /* NAN where CPU time was never published */
	double memory_bytes; /* growth of the resident set, summed; NAN where it was never published */
	bool has_histogram;  /* false: the region's pool was empty; count only, the rest is NAN */
	uint32_t histogram[HISTOGRAM_BUCKETS];
};

/* Since the last reading of the same lane, so it covers what lies before the batch too. Any of them NAN where
 * unknown. */
struct evidence {
	double cpu_s, run_queue_wait_s;
	double minor_faults, major_faults, voluntary_switches, involuntary_switches, blocks_read;
	double samples;
};

/* The run's state, whole, as the region has it now: what a late monitor could not learn from the ring. */
struct run_state {
	uint32_t mode;           /* name id, 0 = none */
	uint32_t epochs_planned; /* 0 = unknown, here and below */
	uint64_t batches_per_epoch, samples_per_batch;
	bool in_epoch, in_batch, is_ended;
	uint32_t epoch_index;  /* as published */
	uint32_t epochs_begun; /* so the ordinal of the current epoch */
	int64_t epoch_begin_ns;
	uint64_t batch_index;      /* as published, of the last batch begun */
	uint64_t batches_in_epoch; /* finished in the current epoch */
	int64_t batch_begin_ns;
	double loss; /* of the last batch that had one; NAN = none */
};

/* One row of the region's array of epochs. */
struct epoch_row {
	uint32_t index, mode;
	int64_t begin_ns, end_ns; /* end 0 = still open */
	uint64_t batches;
	double sum_s, min_s, max_s; /* of batch times */
};

/* One bin of the region's history: neighbouring batches merged. */
struct history_row {
	uint64_t first, count;      /* ordinal of its first batch in the run (all modes), and how many */
	double sum_s, min_s, max_s; /* of step times */
	int64_t begin_ns;           /* when its first batch began; 0 = not kept */
};

/* A loader worker as it stands: all since it started. What its region counted without times is left out. */
struct worker_span {
	const char *name;
	uint64_t count;
	double total_s;
};
struct worker_row {
	int32_t pid;            /* as pmtop sees it */
	uint32_t id, count;     /* among its loader's workers, and how many; UINT32_MAX, 0 = not known */
	int64_t start_ns;       /* when its region was made */
	int64_t fetch_begin_ns; /* of the fetch that runs; 0 = it waits for work */
	/* finished, without those that failed or found the data at its end; those that failed */
	uint64_t fetches, failed;
	double items;                 /* samples in them; NAN where not published */
	double total_s, min_s, max_s; /* of finished fetches; NAN while there are none */
	const uint32_t *histogram;    /* of their times, HISTOGRAM_BUCKETS */
	size_t span_count;            /* what they are made of, outermost spans first */
	const struct worker_span *spans;
};

/* Why a GPU runs slower than it could, whoever made it. (name, in words, whether it is heat) */
#define GPU_THROTTLES(X) \
	X(POWER_CAP, "power cap") \
	X(POWER_BRAKE, "power brake") /* from outside: the power supply */ \
	X(CURRENT, "current limit") \
	X(HARDWARE, "hardware slowdown")  /* heat or power: the driver does not say which */ \
	X(HEAT, "thermal slowdown")       /* by the hardware: the clock is halved or worse */ \
	X(HEAT_SOFTWARE, "thermal limit") /* by the driver, to stay under the limit */ \
	X(SYNC_BOOST, "sync boost")       /* it waits for others of its group */ \
	X(CLOCKS_SET, "clocks set by hand")

enum gpu_throttle {
#define GPU_THROTTLE_ID(id, words) GPU_THROTTLE_##id,
	GPU_THROTTLES(GPU_THROTTLE_ID)
#undef GPU_THROTTLE_ID
		GPU_THROTTLE_COUNT
};

/* A GPU, or a part of one (MIG), as it stands: told before its first figure, and again when anything of it has
 * changed. */
struct gpu_row {
	int32_t instance;   /* of its figures; stays while pmtop runs */
	int32_t parent;     /* the instance of the GPU that it is a part of; −1 = none */
	uint32_t index;     /* as its maker's tools number it; of a part: among its GPU's parts */
	const char *vendor; /* "NVIDIA", "AMD", "Intel", or the driver's name */
	const char *name;   /* "H100 80GB HBM3"; "1g.10gb" */
	const char *uuid;   /* "GPU-…" as CUDA_VISIBLE_DEVICES has it, or "" */
	const char *pci;    /* "0000:01:00.0", lower case; "" = not on PCI */
	const char *driver; /* name and version: "nvidia 580.82", "amdgpu 3.57" */
	/* why it no longer answers: "it has fallen off the bus (XID 79)"; NULL = it does */
	const char *lost;
};

enum gpu_process_kind { GPU_PROCESS_COMPUTE = 1, GPU_PROCESS_GRAPHICS = 2 }; /* bits */

struct gpu_process_row {
	/* as pmtop sees it; 0 = all those together that are hidden from it (outside its container) */
	int32_t pid;
	uint32_t kind;
	/* of those that are not of the target's tree, as far as we may know; else "" */
	const char *command;
	double memory_bytes; /* NAN = the driver does not say */
	/* share of the time since the reading before in which it kept the GPU busy; NAN = not known */
	double busy_ratio;
};

/* What a CPU counter counts; the source sums up what several events make (FLOPs). (name, in words, whether the kernel
 * itself counts it) */
#define PERF_ROLES(X) \
	X(OTHER, "other", false)        /* chosen in the config */ \
	X(TASK_CLOCK, "CPU time", true) /* nanoseconds */ \
	X(MINOR_FAULTS, "minor faults", true) \
	X(MAJOR_FAULTS, "major faults", true) \
	X(SWITCHES, "context switches", true) \
	X(MIGRATIONS, "CPU migrations", true) \
	X(CYCLES, "cycles", false) \
	X(INSTRUCTIONS, "instructions", false) \
	X(CACHE_REFERENCES, "cache references", false) \
	X(CACHE_MISSES, "cache misses", false) \
	X(BRANCHES, "branches", false) \
	X(BRANCH_MISSES, "branch misses", false) \
	X(STALLED_FRONT, "stalled, front end", false) /* cycles */ \
	X(STALLED_BACK, "stalled, back end", false) \
	X(FLOPS, "FLOPs", false) /* floating-point operations, by the formulas of src/sources/perf/perf_events.c */ \
	X(MEMORY_BYTES, "memory traffic", false) /* bytes, of a whole socket: instance is the socket, not a process */

enum perf_role {
#define PERF_ROLE_ID(id, words, is_software) PERF_ROLE_##id,
	PERF_ROLES(PERF_ROLE_ID)
#undef PERF_ROLE_ID
		PERF_ROLE_COUNT
};

enum { PERF_EVENTS_MAX = 32 };

#define RECORD_KINDS(X) \
	/* figures and what is known about them */ \
	X(FIGURE)   /* figure */ \
	X(MISSING)  /* missing: a figure, why it is missing, what would bring it; withdrawn when `text` is NULL */ \
	X(INSTANCE) /* instance: of which device the figures of this metric's family (disk., network., energy., heat.) and \
				   instance are, before the first */ \
	/* processes */ \
	X(PROCESS_SEEN)     /* process: a member of the tree appeared, or (same pid and start) its command changed */ \
	X(PROCESS_GONE)     /* process.pid */ \
	X(PROCESS_REPLACED) /* process: same pid, another program (exec) */ \
	X(PROCESS_WAIT)     /* wait: where the kernel lets it wait (wchan), when it has changed; text "" = nowhere */ \
	/* runs: regions, each a rank */ \
	X(RUN_OPENED) /* opened */ \
	X(RUN_CLOSED) /* text: why ("ended", "region was cut short", …) */ \
	X(NAME)       /* name: id → text, before its first use */ \
	X(META)       /* meta */ \
	X(STATE)      /* state */ \
	X(TOTAL)      /* total: at attach, and again for a lane that lost events */ \
	X(HISTORY)    /* history: rows[count] at attach, replacing what stood */ \
	X(EPOCHS)     /* epochs: rows[count] at attach, replacing what stood */ \
	X(COUNTER)    /* counter: a published counter's total now */ \
	X(OPEN_SPAN)  /* span, still open as of the set's time; duration so far. Replaces the lane's earlier ones when \
					 depth is 0 */ \
	X(OPEN_SPANS_NONE) /* the lane has no open span now */ \
	X(LOST)            /* lost: overwritten before they were read, or torn */ \
	X(BEFORE_ATTACH)   /* lost.count: gone before pmtop came (whole run so far) */ \
	X(REFUSED) /* lost.count: total of events that the writer itself dropped: in lane 0 of all, in lane n + 1 those \
				  for `enum refusal` n */ \
	X(FLAG)    /* flag: a person flagged or unflagged a batch */ \
	/* loader workers: small regions of their own, never runs; `run` says which */ \
	X(WORKER)      /* worker: found, or anything about it has changed */ \
	X(WORKER_GONE) /* text: why ("ended" where it said so itself) */ \
	/* hardware */ \
	X(GPU)           /* gpu: found, or anything about it has changed */ \
	X(GPU_PROCESSES) /* gpu_processes: all that use this GPU now, replacing what stood */ \
	X(GPU_EVENT)     /* gpu_event: something happened to it */ \
	X(PROCESS_PLACE) /* place: where a process of the tree was told to run, by its environment */ \
	X(PERF_EVENT)    /* perf_event: what is counted under this number, before its first count */ \
	X(PERF_COUNT)    /* perf_count: all since pmtop began to count */ \
	/* where the time of Python code goes, by samples at its stacks */ \
	X(CODE_GROUP) /* code_group: whose stacks: a process, or the loader workers of one together; before the first, and \
					 as it has been looked at since */ \
	X(CODE)       /* code: a function, before its first node */ \
	X(CODE_NODE)  /* code_node: a line of it, called from the line `parent`, before its first time */ \
	X(CODE_TIME)  /* code_time: all since pmtop came */ \
	/* events, in the order of their lane; `sequence` is their number in it */ \
	X(EPOCH_BEGIN)  /* epoch */ \
	X(EPOCH_END)    /* epoch */ \
	X(BATCH_BEGIN)  /* batch */ \
	X(BATCH_END)    /* batch */ \
	X(EVIDENCE)     /* evidence of the batch that ended just before, same lane */ \
	X(SPAN)         /* span, finished */ \
	X(GAUGE)        /* gauge */ \
	X(BATCH_FIGURE) /* batch_figure: of an earlier batch, known only now */ \
	X(MARK)         /* mark.text */ \
	X(MODE)         /* mode.name */

enum record_kind {
#define RECORD_ID(id) RECORD_##id,
	RECORD_KINDS(RECORD_ID)
#undef RECORD_ID
		RECORD_KIND_COUNT
};

/* Why a program's publisher refused calls, as pmtop_refusal in pmtop.h. */
enum refusal {
	REFUSAL_NO_LANE,
	REFUSAL_DEEP,
	REFUSAL_SIGNAL,
	REFUSAL_FULL,
	REFUSAL_ORDER,
	REFUSAL_BUSY,
	REFUSAL_COUNT
};

struct record {
	uint8_t kind; /* enum record_kind */
	uint8_t run;  /* which region; stable while it is attached; 0 for figures and processes */
	uint16_t lane;
	uint64_t sequence; /* of an event in its lane */
	int64_t time_ns;   /* of a span, batch end, epoch end: its end */
	union {
		struct {
			enum metric metric;
			int32_t instance;
			double value;
		} figure;
		struct {
			const char *figure, *text, *remedy;
		} missing;
		struct {
			enum metric metric;
			int32_t instance;
			const char *name;
		} instance; /* any metric of the family */
		struct {
			int32_t pid, parent;
			uint64_t start_ticks;
			const char *command;
			bool is_target;
		} process;
		struct {
			int32_t pid;
			const char *text;
		} wait;
		struct {
			int32_t pid, inner_pid; /* as pmtop sees it, and in the target's own namespace */
			const char *name;       /* run name */
			const char *uuid;       /* 32 hex digits */
			const char *abi;        /* "1.0" */
			int64_t start_ns;       /* when the region was made */
			bool is_live;
		} opened;
		const char *text;
		struct {
			uint32_t id;
			const char *text;
		} name;
		struct {
			const char *key, *value;
		} meta;
		const struct run_state *state;
		const struct total_row *total;
		struct {
			const struct history_row *rows;
			size_t count;
		} history;
		/* batches of a number below upto are in them */
		struct {
			const struct epoch_row *rows;
			size_t count;
			uint64_t dropped, upto;
		} epochs;
		struct {
			uint32_t name;
			double total;
		} counter;
		const struct worker_row *worker;
		struct {
			uint64_t count;
		} lost;
		/* ordinal: among the batches of that mode, from 0 */
		struct {
			uint64_t ordinal;
			uint32_t mode;
			bool is_flagged;
		} flag;
		struct {
			uint32_t index;
		} epoch;
		/* number: in the run, all modes, from 0; kind: name id, 0 = the usual. Kind, loss and begin: of BATCH_END
		 * only */
		struct {
			uint64_t index, number;
			double loss;
			int64_t begin_ns;
			uint32_t kind;
		} batch;
		const struct evidence *evidence;
		struct {
			uint32_t name, parent, depth;
			int64_t duration_ns;
			float self_s;
			float cpu_s;        /* NAN where not published */
			float memory_bytes; /* growth of the resident set over the span; NAN where not published */
		} span;
		struct {
			uint32_t name;
			double value;
		} gauge;
		struct {
			uint64_t number;
			double value;
			uint32_t name;
		} batch_figure;
		struct {
			uint32_t name;
		} mode;
		const struct gpu_row *gpu;
		struct {
			int32_t gpu;
			const struct gpu_process_row *rows;
			size_t count;
		} gpu_processes;
		struct {
			int32_t gpu;
			uint32_t code;
			const char *text;
		} gpu_event; /* code: NVIDIA's XID; 0 = none */
		/* local_rank −1 = none; visible_devices: as CUDA_VISIBLE_DEVICES (or HIP_…, ROCR_…, ZE_AFFINITY_MASK) says;
		 * NULL = not set */
		struct {
			int32_t pid, local_rank;
			const char *visible_devices;
		} place;
		/* event < PERF_EVENTS_MAX; name: as libpfm4 or perf has it */
		struct {
			uint32_t event, role;
			const char *name;
		} perf_event;
		struct {
			uint32_t id; /* from 1 on, as the numbers of codes and nodes */
			int32_t pid; /* of workers: of the process that they work for */
			bool is_workers;
			const char *python;        /* "3.11", with the patch level where it says so */
			uint64_t samples, partial; /* in all; of which the innermost frames could not be read */
			double hz;                 /* samples a second at present, each at one thread */
			uint64_t total_ns;         /* that the samples stand for */
		} code_group;
		/* is_own: neither installed nor of Python itself, by its path */
		struct {
			uint32_t id;
			bool is_own;
			const char *function, *file;
		} code;
		/* parent 0 = outermost; line 0, text NULL = not known */
		struct {
			uint32_t id, parent, group, code, line;
			const char *text;
		} code_node;
		/* in which this node was the innermost */
		struct {
			uint32_t id;
			uint64_t total_ns;
		} code_time;
		/* scaled up; counted_ratio: share of the time in which it was counted, 0 … 1 */
		struct {
			int32_t pid;
			uint32_t event;
			double value, counted_ratio;
		} perf_count;
	};
};

struct sample_set {
	int64_t time_ns;    /* when its reading began */
	const char *source; /* the source's name */
	struct record *records;
	size_t count, capacity;
	bool is_snapshot;    /* nothing new: what one who comes now must be told before he understands what follows */
	bool failed;         /* out of memory: some records are not here; the reader counts it */
	struct arena *arena; /* private */
	size_t allocated;    /* bytes beside the records, private */
};

#define SAMPLE_SET_INIT \
	{ \
		0 \
	}

void sample_set_clear(struct sample_set *set); /* empty, storage kept */
void sample_set_release(struct sample_set *set);
/* The new record, zeroed but for kind, run and time; NULL when out of memory. */
struct record *sample_set_add(struct sample_set *set, enum record_kind kind, unsigned run, int64_t time_ns);
/* Appends all records of `from`, whose storage they keep: it is empty then. False when out of memory: nothing has
 * moved. */
bool sample_set_move(struct sample_set *set, struct sample_set *from);
/* A cleaned copy of foreign text, or "" when out of memory (set->failed). */
const char *sample_set_text(struct sample_set *set, const char *text, size_t length);
/* Zeroed storage that lives as long as the set's records; NULL when out of memory. */
void *sample_set_allocate(struct sample_set *set, size_t size);

/* Shorthands for the commonest. */
void sample_set_figure(struct sample_set *set, int64_t time_ns, enum metric metric, int32_t instance, double value);
void sample_set_missing(
	struct sample_set *set, int64_t time_ns, const char *figure, const char *text, const char *remedy);

const char *record_kind_name(enum record_kind kind);

/* Whether a run that RUN_OPENED announces is inferred: pmtop counts its batches from outside the process. */
bool opened_is_counted(const struct record *record);
/* Whether a run's or a worker's end, as RUN_CLOSED and WORKER_GONE have it in `text`, is the usual one: it said so
 * itself. */
bool end_is_orderly(const char *text);

#endif
