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

#endif
