/* synthetic_private.h: the invented run itself: synthetic.c writes its events ahead of time; synthetic_figures.c,
 * _gpu.c and _meters.c tell what the samplers see. */
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
	int64_t begin_ns, end_ns; /* of the newest, which may still run */
	uint32_t histogram[HISTOGRAM_BUCKETS];
};

/* What the GPUs do while the run is in a phase; nothing of these: they idle. */
enum synthetic_work { WORK_COPY, WORK_FORWARD, WORK_BACKWARD, WORK_OPTIMIZER, WORK_COUNT };

/* Of everything up to a moment: seconds of each work, seconds in which they were held back, and each one's joules. */
struct synthetic_sums {
	int64_t time_ns;
	double worked_s[WORK_COUNT], throttled_s, joules[SYNTHETIC_GPUS];
};

struct synthetic_node {
	struct synthetic_sums before; /* up to the begin of the batch that is told */
	bool is_throttled;            /* in that batch they are */
	unsigned work_count;          /* in that batch */
	struct {
		enum synthetic_work work;
		int64_t begin_ns, end_ns;
	} works[SYNTHETIC_WORK_MAX];
	struct synthetic_sums cheap, activity, processes; /* when figures of each pace were last told */
	double power_w[SYNTHETIC_GPUS], celsius[SYNTHETIC_GPUS];
	bool is_lost, has_faulted; /* and it has been told */
	double readings;
	int64_t metered_ns;
};

struct synthetic {
	const struct scenario *scenario;
	uint64_t seed, noise, offset; /* offset: by how many batches the slow ones are moved, by seed */
	int64_t start_ns, emitted_ns;
	bool is_introduced, child_is_here, worker_is_gone;
	char name[64];
	/* the batch that is being told */
	uint64_t batch, sequence; /* batches written, and events told */
	int64_t written_ns;       /* up to here events are written */
	unsigned event_count, next_event;
	struct synthetic_event events[SYNTHETIC_EVENTS];
	struct run_state state;
	/* the slow part of the newest slow batch, and how many were before it */
	bool has_slow;
	int64_t slow_begin_ns, slow_end_ns;
	double slow_s_before; /* sum of those before */
	unsigned slow_worker;
	uint64_t planted_count, planted_room, *planted;
	int64_t stepped_ns; /* when the clock was set, or the machine woke; 0 = not yet */
	struct synthetic_fetches fetches[SYNTHETIC_WORKERS];
	struct synthetic_node node;
};

/* −1 … 1 */
double synthetic_chance(struct synthetic *synthetic);
/* Seconds that slow batches have taken longer, up to now. */
double synthetic_slow_s(const struct synthetic *synthetic, int64_t now_ns);
bool synthetic_is_slow(const struct synthetic *synthetic, int64_t now_ns);
double synthetic_retained_bytes(const struct synthetic *synthetic);
int32_t synthetic_worker_pid(unsigned worker);
bool synthetic_worker_is_gone(const struct synthetic *synthetic, unsigned worker);
/* A counter's growth since the run began; NAN: it is not told of them. */
double synthetic_grown(const struct synthetic *synthetic, enum metric metric, enum synthetic_who who, int64_t now_ns);
/* Figures, processes and workers as they stand. */
void synthetic_emit_figures(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);

/* -- synthetic_gpu.c: the node's GPUs -- */

/* A batch begins, all before it is over; and what the GPUs do in it. */
void synthetic_gpu_begin_batch(struct synthetic *synthetic, bool is_throttled);
void synthetic_gpu_work(struct synthetic *synthetic, enum synthetic_work work, int64_t begin_ns, int64_t end_ns);
/* By the framework's allocator, in the first. */
double synthetic_gpu_allocated(const struct synthetic *synthetic);
double synthetic_gpu_reserved(const struct synthetic *synthetic);
/* The most that was allocated. */
double synthetic_gpu_peak(const struct synthetic *synthetic);
/* What is told once: the GPUs, their processes, the run's place. */
void synthetic_describe_gpus(const struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);
void synthetic_emit_gpus(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);

/* -- synthetic_meters.c: CPU counters, energy, heat -- */

void synthetic_describe_meters(const struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);
void synthetic_emit_meters(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);

#endif
