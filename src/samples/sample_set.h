/* sample_set.h: the interface between sources and model. All data reaches the model as sample sets, the same for live,
 * recorded and remote runs. A source appends records; the model applies them in order.
 *
 * Times are CLOCK_MONOTONIC nanoseconds in pmtop's time namespace; sources convert them. Texts are cleaned when they
 * are added (text_clean), so later layers never see control characters. A figure that could not be read is not appended
 * (RECORD_MISSING gives the reason). The set owns all storage; texts and rows live until sample_set_clear. */
#ifndef PMTOP_SAMPLES_SAMPLE_SET_H
#define PMTOP_SAMPLES_SAMPLE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/histogram.h"
#include "src/samples/metric.h"
#include "src/samples/ras_row.h"

/* What a total counts. */
enum total_kind { TOTAL_BATCH, TOTAL_STEP, TOTAL_SPAN };

/* The region's running totals of one (kind, mode, name, parent) in one lane (a publishing thread), since the start of
 * the run. */
struct total_row {
	enum total_kind kind;
	uint32_t mode;         /* name id; 0 = none published */
	uint32_t name, parent; /* name ids; spans only; parent 0 = outermost */
	uint32_t depth;        /* 0 = outermost; the minimum seen */
	uint64_t upto;         /* events of this lane with a sequence below this are included */
	uint64_t count;
	double total_s, self_s, min_s, max_s, last_s, squares_s2;
	double cpu_s;        /* NAN if CPU time was never published */
	double memory_bytes; /* growth of the resident set, summed; NAN if never published */
	bool has_histogram;  /* false: the region's pool was empty; count only, the rest is NAN */
	uint32_t histogram[HISTOGRAM_BUCKETS];
};

/* Deltas since the previous reading of the same lane, so they include the time before the batch. NAN = unknown. */
struct evidence {
	double cpu_s, run_queue_wait_s;
	double minor_faults, major_faults, voluntary_switches, involuntary_switches, blocks_read;
	double samples;
};

/* In place of an epoch's index: pmtop joined an inferred run in an epoch whose number nothing shows. */
#define EPOCH_UNKNOWN UINT32_MAX

/* The run's state from the region's header: a monitor that attaches late cannot learn it from the ring. */
struct run_state {
	uint32_t mode;           /* name id, 0 = none */
	uint32_t epochs_planned; /* 0 = unknown, here and below */
	uint64_t batches_per_epoch, samples_per_batch;
	bool in_epoch, in_batch, is_ended;
	uint32_t epoch_index;  /* as published, or EPOCH_UNKNOWN */
	uint32_t epochs_begun; /* = ordinal of the current epoch */
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

/* One bin of the region's history: adjacent batches merged. */
struct history_row {
	uint64_t first, count;      /* number of its first batch in the run (all modes), and of batches */
	double sum_s, min_s, max_s; /* of step times */
	int64_t begin_ns;           /* when its first batch began; 0 = not recorded */
};

/* Totals of a DataLoader worker since it started, without spans that its region counted but did not time. */
struct worker_span {
	const char *name;
	uint64_t count;
	double total_s;
};
struct worker_row {
	int32_t pid;            /* as pmtop sees it */
	uint32_t id, count;     /* its index among the DataLoader's workers, and their number; UINT32_MAX, 0 = unknown */
	int64_t start_ns;       /* when its region was created */
	int64_t fetch_begin_ns; /* of the fetch in progress; 0 = idle */
	/* completed fetches, without those that failed or found no more data; failed fetches */
	uint64_t fetches, failed;
	double items;                 /* samples in them; NAN if not published */
	double total_s, min_s, max_s; /* of completed fetches; NAN while there are none */
	const uint32_t *histogram;    /* of their times, HISTOGRAM_BUCKETS */
	size_t span_count;            /* parts of a fetch, outermost spans first */
	const struct worker_span *spans;
};

/* Throttle reasons, for GPUs of all vendors: X(name, text, name in exports). */
#define GPU_THROTTLES(X) \
	X(POWER_CAP, "power cap", "power_cap") \
	X(POWER_BRAKE, "power brake", "power_brake") /* external signal, from the power supply */ \
	X(CURRENT, "current limit", "current_limit") \
	X(HARDWARE, "hardware slowdown", "hardware_slowdown") /* heat or power: the driver does not say which */ \
	X(HEAT, "thermal slowdown", "thermal_slowdown")       /* by the hardware: halves the clock or worse */ \
	X(HEAT_SOFTWARE, "thermal limit", "thermal_limit")    /* by the driver, to stay below the temperature limit */ \
	X(SYNC_BOOST, "sync boost", "sync_boost")             /* lowered to match other GPUs of its sync group */ \
	X(CLOCKS_SET, "clocks set by hand", "clocks_set")

enum gpu_throttle {
#define GPU_THROTTLE_ID(id, words, name) GPU_THROTTLE_##id,
	GPU_THROTTLES(GPU_THROTTLE_ID)
#undef GPU_THROTTLE_ID
		GPU_THROTTLE_COUNT
};

/* Bits 1 << enum gpu_throttle. The other reasons lower the clock without being a problem. */
#define GPU_THROTTLED_BY_HEAT (1u << GPU_THROTTLE_HEAT | 1u << GPU_THROTTLE_HEAT_SOFTWARE)
#define GPU_THROTTLED_BY_POWER \
	(1u << GPU_THROTTLE_POWER_CAP | 1u << GPU_THROTTLE_POWER_BRAKE | 1u << GPU_THROTTLE_CURRENT)
#define GPU_THROTTLED_BY_HARDWARE (1u << GPU_THROTTLE_HARDWARE) /* heat or power */

/* A GPU, or a part of one (a MIG instance). Emitted before its first figure, and again after any change. */
struct gpu_row {
	int32_t instance;   /* of its figures; constant while pmtop runs */
	int32_t parent;     /* the instance of the GPU it is part of; −1 = it is a whole GPU */
	uint32_t index;     /* as the vendor's tools number it; for a part, its index within the GPU */
	const char *vendor; /* "NVIDIA", "AMD", "Intel", or the driver's name */
	const char *name;   /* "H100 80GB HBM3"; "1g.10gb" */
	const char *uuid;   /* "GPU-…" as in CUDA_VISIBLE_DEVICES, or "" */
	const char *pci;    /* "0000:01:00.0", lower case; "" = not on PCI */
	const char *driver; /* name and version: "nvidia 580.82", "amdgpu 3.57" */
	/* why it no longer answers: "it has fallen off the bus (XID 79)"; NULL = it answers */
	const char *lost;
};

enum gpu_process_kind { GPU_PROCESS_COMPUTE = 1, GPU_PROCESS_GRAPHICS = 2 }; /* bits */

struct gpu_process_row {
	/* as pmtop sees it; 0 = the sum of all processes that pmtop cannot see (outside its container) */
	int32_t pid;
	uint32_t kind;
	/* of processes outside the target's process tree, if readable; else "" */
	const char *command;
	double memory_bytes; /* NAN = the driver does not report it */
	/* share of the time since the previous reading in which it kept the GPU busy; NAN = unknown */
	double busy_ratio;
};

/* A loop of a Python process whose iterations can be counted as steps. */
struct loop_row {
	const char *text, *file; /* of its line; of a while loop that of the int that counts it, or its name */
	uint32_t line;
	double per_s;              /* iterations per second; NAN = unknown */
	uint64_t position, length; /* of the iteration in progress, from 1; all, 0 = unknown */
	bool is_counted;           /* its iterations are the steps now */
};

/* One collective of one rank. */
struct collective_row {
	uint32_t group, op; /* ids, from 1 */
	uint64_t sequence;  /* its number in the group, the same in all ranks */
	int64_t entered_ns;
};

/* What a perf counter counts: X(name, text, whether it is a software event of the kernel). The source adds up roles
 * that take several events (FLOPs). */
#define PERF_ROLES(X) \
	X(OTHER, "other", false)        /* selected in the configuration */ \
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
	X(MEMORY_BYTES, "memory traffic", false) /* bytes of a whole socket: the instance is the socket, not a process */

enum perf_role {
#define PERF_ROLE_ID(id, words, is_software) PERF_ROLE_##id,
	PERF_ROLES(PERF_ROLE_ID)
#undef PERF_ROLE_ID
		PERF_ROLE_COUNT
};

enum { PERF_EVENTS_MAX = 32 };

#define RECORD_KINDS(X) \
	/* figures */ \
	X(FIGURE)   /* figure */ \
	X(MISSING)  /* missing: a figure, why it is missing, and the remedy; no longer missing when `text` is NULL */ \
	X(INSTANCE) /* instance: the device name of a metric family's instance (disk., network., energy., heat.), before \
				   its first figure */ \
	/* processes */ \
	X(PROCESS_SEEN)     /* process: a member of the tree appeared, or (same pid and start) its command changed */ \
	X(PROCESS_GONE)     /* process.pid */ \
	X(PROCESS_REPLACED) /* process: same pid, another program (exec) */ \
	X(PROCESS_WAIT)     /* wait: the kernel function it sleeps in (wchan), on change; text "" = none */ \
	/* runs: each region is a rank */ \
	X(RUN_OPENED)      /* opened */ \
	X(RUN_CLOSED)      /* text: the reason ("ended", "region was cut short", …) */ \
	X(NAME)            /* name: id → text, before its first use */ \
	X(META)            /* meta */ \
	X(STATE)           /* state */ \
	X(TOTAL)           /* total: at attach, and again after a lane lost events */ \
	X(HISTORY)         /* history: rows[count] at attach; replaces all earlier rows */ \
	X(EPOCHS)          /* epochs: rows[count] at attach; replaces all earlier rows */ \
	X(COUNTER)         /* counter: current total of a published counter */ \
	X(OPEN_SPAN)       /* span: still open at the set's time, with its duration so far; depth 0 replaces all of the \
						  lane */ \
	X(OPEN_SPANS_NONE) /* the lane has no open span now */ \
	X(LOST)            /* lost: events overwritten before or while they were read */ \
	X(BEFORE_ATTACH)   /* lost.count: events overwritten before pmtop attached (whole run so far) */ \
	X(REFUSED)         /* lost.count: calls that the publisher refused so far: lane 0 all, lane n + 1 those with `enum \
						  refusal` n */ \
	X(FLAG)            /* flag: a person flagged or unflagged a batch */ \
	/* DataLoader workers: each has its own small region, which is no run; `run` identifies it */ \
	X(WORKER)      /* worker: found or changed */ \
	X(WORKER_GONE) /* text: the reason ("ended" if it closed its region) */ \
	/* hardware */ \
	X(GPU)           /* gpu: found or changed */ \
	X(GPU_PROCESSES) /* gpu_processes: all processes that use this GPU now; replaces the list */ \
	X(GPU_EVENT)     /* gpu_event: an event such as an XID error */ \
	X(PROCESS_PLACE) /* placement: local rank and visible devices from a process's environment */ \
	X(PERF_EVENT)    /* perf_event: describes an event number, before its first count */ \
	X(PERF_COUNT)    /* perf_count: totals since pmtop began to count */ \
	/* time in Python code, from stack samples */ \
	X(CODE_GROUP)   /* code_group: a process, or all DataLoader workers of one; before its first node, and after each \
					   change */ \
	X(CODE)         /* code: describes a function, before its first node */ \
	X(CODE_NODE)    /* code_node: a line of it, called from node `parent`; before its first time */ \
	X(CODE_TIME)    /* code_time: totals since pmtop attached */ \
	X(CODE_SAMPLES) /* code_samples: consecutive samples of a process with the same innermost node; time_ns: of the \
					   last */ \
	X(CODE_THREAD)  /* code_thread: a thread of a process beside its main thread; totals since pmtop attached */ \
	X(CODE_GIL_WAITS) /* code_gil_waits: consecutive samples of a process whose main thread waits for the GIL, with \
						 the same holder; time_ns: of the last */ \
	X(LOOPS) /* loops: rows[count] that a person can choose from; replaces all; only while somebody views them */ \
	/* collectives of distributed runs, from PyTorch's flight recorder */ \
	X(COLLECTIVE_RANK)  /* collective_rank: a process that takes part; before its first of the following */ \
	X(COLLECTIVE_GROUP) /* collective_group: describes a process group, before its first use */ \
	X(COLLECTIVE_OP)    /* collective_op: describes an operation, before its first use */ \
	X(COLLECTIVE_STATE) /* collective_state: how far a rank is in a group, on change */ \
	X(COLLECTIVES)      /* collectives: rows[count] that a rank entered since the reading before; time_ns: of this \
						   reading, also without rows */ \
	X(RAS)              /* ras: an answer of NCCL's RAS; its communicators follow, and replace those before */ \
	X(RAS_GROUP)        /* ras_group: a communicator with rows[count], its ranks */ \
	/* events, in order within their lane; `sequence` is their number in it */ \
	X(EPOCH_BEGIN)  /* epoch */ \
	X(EPOCH_END)    /* epoch: index EPOCH_UNKNOWN where the begin had a number: it was no epoch */ \
	X(BATCH_BEGIN)  /* batch */ \
	X(BATCH_END)    /* batch */ \
	X(EVIDENCE)     /* evidence of the batch that ended just before, same lane */ \
	X(SPAN)         /* span, finished */ \
	X(GAUGE)        /* gauge */ \
	X(BATCH_FIGURE) /* batch_figure: a figure of an earlier batch, published later */ \
	X(MARK)         /* mark.text */ \
	X(MODE)         /* mode.name */

enum record_kind {
#define RECORD_ID(id) RECORD_##id,
	RECORD_KINDS(RECORD_ID)
#undef RECORD_ID
		RECORD_KIND_COUNT
};

/* Why the publisher refused calls: the values of pmtop_refusal in pmtop.h. */
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
	int64_t time_ns;   /* of a span, batch or epoch: its end */
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
		} instance; /* metric: any of the family */
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
			int32_t pid, inner_pid; /* as pmtop sees it, and in the target's pid namespace */
			const char *name;       /* run name */
			const char *uuid;       /* 32 hex digits */
			const char *abi;        /* "1.0" */
			int64_t start_ns;       /* when the region was created */
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
		/* the rows include all batches with numbers below upto */
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
		/* ordinal: number among the batches of that mode, from 0 */
		struct {
			uint64_t ordinal;
			uint32_t mode;
			bool is_flagged;
		} flag;
		struct {
			uint32_t index;
		} epoch;
		/* number: in the run, all modes, from 0; kind: name id, 0 = no kind published. BATCH_BEGIN has only index and
		 * number */
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
			float cpu_s;        /* NAN if not published */
			float memory_bytes; /* growth of the resident set over the span; NAN if not published */
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
		/* local_rank: −1 = none; visible_devices: the value of CUDA_VISIBLE_DEVICES (or HIP_…, ROCR_…,
		 * ZE_AFFINITY_MASK), NULL = not set */
		struct {
			int32_t pid, local_rank;
			const char *visible_devices;
		} placement;
		/* event < PERF_EVENTS_MAX; name: in the syntax of libpfm4 or perf */
		struct {
			uint32_t event, role;
			const char *name;
		} perf_event;
		struct {
			uint32_t id; /* from 1, as are the ids of codes and nodes */
			int32_t pid; /* of workers: the process that started them */
			bool is_workers;
			const char *python;        /* "3.11", or with the patch level if known */
			uint64_t samples, partial; /* all; those whose innermost frames could not be read */
			double hz;                 /* current sampling rate per thread, samples/s */
			uint64_t total_ns;         /* time covered by the samples */
		} code_group;
		/* is_own: by its path, neither an installed package nor the standard library */
		struct {
			uint32_t id;
			bool is_own;
			const char *function, *file;
		} code;
		/* parent 0 = outermost; line 0, text NULL = unknown; is_no_grad: a forward without gradients */
		struct {
			uint32_t id, parent, group, code, line;
			const char *text;
			bool is_no_grad;
		} code_node;
		/* total_ns: time in which this node was the innermost */
		struct {
			uint32_t id;
			uint64_t total_ns;
		} code_time;
		/* node: the innermost */
		struct {
			uint32_t node, count;
			int64_t begin_ns;
		} code_samples;
		/* tid 0, state 0, name NULL, node 0 = unknown. samples: in which the thread was found; of these those in which
		 * it ran, and those in which it waited for the GIL. node: the line where it ran most (or, if it never did,
		 * where it was last), without time of its own. is_gone: it has ended, and another may have its id */
		struct {
			uint32_t id, group; /* id: from 1 */
			int32_t tid;        /* as pmtop sees it */
			uint32_t state;     /* of /proc/PID/task/TID/stat */
			uint32_t node;
			const char *name;
			uint64_t samples, busy, waits;
			bool is_gone;
		} code_thread;
		/* thread: the holder, node: its line; 0 = unknown */
		struct {
			uint32_t group, thread, node, count;
			int64_t begin_ns;
		} code_gil_waits;
		/* is_chosen: a person chose what is counted; false: pmtop did */
		struct {
			int32_t pid;
			bool is_chosen;
			const struct loop_row *rows;
			size_t count;
		} loops;
		/* rank −1, world_size 0, job NULL: unknown. job: the same for all ranks of one run; is_gone: it has ended */
		struct {
			int32_t pid, rank;
			uint32_t world_size;
			const char *job;
			bool is_gone;
		} collective_rank;
		/* name: as PyTorch names it, the same in all ranks: "0"; is_device: of NCCL */
		struct {
			uint32_t id;
			const char *name, *description, *job;
			bool is_device;
		} collective_group;
		/* sizes: of the inputs, "[1000, 64]"; NULL = unknown */
		struct {
			uint32_t id;
			const char *name, *sizes;
		} collective_op;
		/* sequence numbers of the last collective that was enqueued, started, completed; −1 = none or unknown */
		struct {
			int32_t pid;
			uint32_t group;
			int64_t enqueued, started, completed;
		} collective_state;
		/* state: of /proc/PID/stat, 0 = not read; skipped: collectives between the readings that have no row;
		 * throttled_s: by its cgroup's CPU quota; switches: voluntary ones of its main thread; 0 = unknown */
		struct {
			int32_t pid;
			uint32_t state;
			uint64_t skipped;
			const struct collective_row *rows;
			size_t count;
			double throttled_s;
			uint64_t switches;
		} collectives;
		/* host: of the process asked; timeouts: processes that did not answer NCCL; left_out: communicators */
		struct {
			int32_t pid;
			const char *version, *host;
			double collection_s;
			uint32_t timeouts, left_out;
		} ras;
		struct {
			uint64_t hash;
			uint32_t size, left_out;
			const struct ras_row *rows;
			size_t count;
		} ras_group;
		/* value: scaled for multiplexing; counted_ratio: share of the time in which it was counted, 0 … 1 */
		struct {
			int32_t pid;
			uint32_t event;
			double value, counted_ratio;
		} perf_count;
	};
};

struct sample_set {
	int64_t time_ns;    /* when the source began to read */
	const char *source; /* the source's name */
	struct record *records;
	size_t count, capacity;
	bool is_snapshot;    /* repeats the current state, for readers that start here; contains nothing new */
	bool failed;         /* out of memory: some records are missing */
	struct arena *arena; /* private */
	size_t allocated;    /* bytes of the arena in use, private */
};

#define SAMPLE_SET_INIT \
	{ \
		0 \
	}

void sample_set_clear(struct sample_set *set); /* empties the set but keeps its storage */
void sample_set_release(struct sample_set *set);
/* Appends a record, zeroed except kind, run and time. NULL: out of memory. */
struct record *sample_set_add(struct sample_set *set, enum record_kind kind, unsigned run, int64_t time_ns);
/* Moves all records of `from`, with their storage, to the end of `set`. False: out of memory, nothing has moved. */
bool sample_set_move(struct sample_set *set, struct sample_set *from);
/* Returns a cleaned copy of untrusted text, or "" when out of memory (set->failed). */
const char *sample_set_text(struct sample_set *set, const char *text, size_t length);
/* Returns zeroed storage that lives as long as the set's records. NULL: out of memory. */
void *sample_set_allocate(struct sample_set *set, size_t size);

/* Shorthands for the most frequent records. */
void sample_set_figure(struct sample_set *set, int64_t time_ns, enum metric metric, int32_t instance, double value);
void sample_set_missing(
	struct sample_set *set, int64_t time_ns, const char *figure, const char *text, const char *remedy);

const char *record_kind_name(enum record_kind kind);
/* Whether a run that RUN_OPENED announces is inferred from its DataLoaders' counters. */
bool opened_is_counted(const struct record *record);
#define END_WITHDRAWN "withdrawn" /* text of RUN_CLOSED: the steps that were inferred can no longer be counted */
bool end_is_withdrawal(const char *text);
/* Whether `text` of RUN_CLOSED or WORKER_GONE says that the run or worker announced its end itself. */
bool end_is_orderly(const char *text);

#endif
