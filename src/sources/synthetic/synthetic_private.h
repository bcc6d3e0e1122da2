/* synthetic_private.h: the state of a synthetic run: synthetic.c writes its events ahead of time;
 * synthetic_figures.c, _gpu.c and _meters.c emit what the samplers would read. */
#ifndef PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_PRIVATE_H
#define PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_PRIVATE_H

#include "src/sources/synthetic/synthetic.h"
#include "src/sources/synthetic/synthetic_scenarios.h"

enum {
	SYNTHETIC_EVENTS = 32,
	SYNTHETIC_EPOCH = 250,
	SYNTHETIC_SAMPLES = 32,
	SYNTHETIC_LANE = 0,
	SYNTHETIC_RUN = 0,
	SYNTHETIC_GPUS = 2,
	SYNTHETIC_WORK_MAX = 16
};
#define SYNTHETIC_FOREVER_NS (INT64_MAX / 2)

struct synthetic_event {
	struct record record;
	struct evidence evidence;
	int64_t begin_ns; /* of a span */
};

struct synthetic_fetches { /* of a worker */
	uint64_t count;
	double total_s, min_s, max_s;
	int64_t begin_ns, end_ns; /* of the newest fetch, which may still run */
	uint32_t histogram[HISTOGRAM_BUCKETS];
};

/* The GPUs' work during a phase; otherwise they idle. */
enum synthetic_work { WORK_COPY, WORK_FORWARD, WORK_BACKWARD, WORK_OPTIMIZER, WORK_COUNT };

/* Sums up to a moment: seconds of each kind of work, throttled seconds, and each GPU's joules. */
struct synthetic_sums {
	int64_t time_ns;
	double worked_s[WORK_COUNT], throttled_s, joules[SYNTHETIC_GPUS];
};

struct synthetic_node {
	struct synthetic_sums before; /* up to the begin of the current batch */
	bool is_throttled;            /* in the current batch */
	unsigned work_count;          /* in the current batch */
	struct {
		enum synthetic_work work;
		int64_t begin_ns, end_ns;
	} works[SYNTHETIC_WORK_MAX];
	struct synthetic_sums cheap, activity, processes; /* sums when figures of each period were last emitted */
	double power_w[SYNTHETIC_GPUS], celsius[SYNTHETIC_GPUS];
	bool is_lost, has_faulted; /* and it was emitted */
	double readings;
	int64_t metered_ns;
};

struct synthetic {
	const struct scenario *scenario;
	uint64_t seed, noise, offset; /* offset: shifts the slow batches, by seed */
	int64_t start_ns, emitted_ns;
	bool is_introduced, child_is_here, worker_is_gone;
	char name[64];
	/* the current batch */
	uint64_t batch, sequence; /* batches written, events emitted */
	int64_t written_ns;       /* events are written up to here */
	unsigned event_count, next_event;
	struct synthetic_event events[SYNTHETIC_EVENTS];
	struct run_state state;
	/* the slow part of the newest slow batch */
	bool has_slow;
	int64_t slow_begin_ns, slow_end_ns;
	double slow_s_before; /* sum of the earlier ones */
	unsigned slow_worker;
	uint64_t planted_count, planted_room, *planted;
	int64_t stepped_ns; /* when the clock was set, or the machine resumed; 0 = not yet */
	struct synthetic_fetches fetches[SYNTHETIC_WORKERS];
	struct synthetic_node node;
};

/* −1 … 1 */
double synthetic_chance(struct synthetic *synthetic);
/* By how many seconds slow batches were longer, up to now. */
double synthetic_slow_s(const struct synthetic *synthetic, int64_t now_ns);
bool synthetic_is_slow(const struct synthetic *synthetic, int64_t now_ns);
double synthetic_retained_bytes(const struct synthetic *synthetic);
int32_t synthetic_worker_pid(unsigned worker);
bool synthetic_worker_is_gone(const struct synthetic *synthetic, unsigned worker);
/* A counter's growth since the run began; NAN: there is no such figure. */
double synthetic_grown(const struct synthetic *synthetic, enum metric metric, enum synthetic_who who, int64_t now_ns);
/* Emits the current figures, processes and workers. */
void synthetic_emit_figures(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);

/* -- synthetic_gpu.c: the node's GPUs -- */

/* Begins a batch after the previous one ended; then adds its GPU work. */
void synthetic_gpu_begin_batch(struct synthetic *synthetic, bool is_throttled);
void synthetic_gpu_work(struct synthetic *synthetic, enum synthetic_work work, int64_t begin_ns, int64_t end_ns);
/* Memory of the framework's allocator on the first GPU. */
double synthetic_gpu_allocated(const struct synthetic *synthetic);
double synthetic_gpu_reserved(const struct synthetic *synthetic);
/* The maximum allocated so far. */
double synthetic_gpu_peak(const struct synthetic *synthetic);
/* Emits what does not change: the GPUs, their processes, the run's placement. */
void synthetic_describe_gpus(const struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);
void synthetic_emit_gpus(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);

/* -- synthetic_meters.c: CPU counters, energy, heat -- */

void synthetic_describe_meters(const struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);
void synthetic_emit_meters(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);

#endif
