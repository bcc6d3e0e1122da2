/* synthetic_private.h: the invented run itself: synthetic.c writes its events ahead of time, synthetic_figures.c what the samplers see. */
#ifndef PMTOP_SOURCES_SYNTHETIC_PRIVATE_H
#define PMTOP_SOURCES_SYNTHETIC_PRIVATE_H

#include "src/sources/synthetic.h"
#include "src/sources/synthetic_scenarios.h"

enum { SYNTHETIC_EVENTS = 32, SYNTHETIC_EPOCH = 250, SYNTHETIC_SAMPLES = 32, SYNTHETIC_LANE = 0, SYNTHETIC_RUN = 0 };
#define SYNTHETIC_FOREVER_NS (INT64_MAX / 2)

struct synthetic_event {
	struct record record;
	struct evidence evidence;
	int64_t begin_ns;                    /* of a span */
};

struct synthetic_fetches {               /* of a worker */
	uint64_t count;
	double total_s, min_s, max_s;
	int64_t begin_ns, end_ns;            /* of the newest, which may still run */
	uint32_t histogram[HISTOGRAM_BUCKETS];
};

struct synthetic {
	const struct scenario *scenario;
	uint64_t seed, noise, offset;        /* offset: by how many batches the slow ones are moved, by seed */
	int64_t start_ns, told_ns;
	bool is_introduced, child_is_here, worker_is_gone;
	char name[64];
	/* the batch that is being told */
	uint64_t batch, sequence;            /* batches written, and events told */
	int64_t written_ns;                  /* up to here events are written */
	unsigned event_count, next_event;
	struct synthetic_event events[SYNTHETIC_EVENTS];
	struct run_state state;
	/* the slow part of the newest slow batch, and how many were before it */
	bool has_slow;
	int64_t slow_begin_ns, slow_end_ns;
	double slow_s_before;                /* sum of those before */
	unsigned slow_worker;
	uint64_t planted_count, planted_room, *planted;
	int64_t stepped_ns;                  /* when the clock was set, or the machine woke; 0 = not yet */
	struct synthetic_fetches fetches[SYNTHETIC_WORKERS];
};

/* −1 … 1 */
double synthetic_chance(struct synthetic *synthetic);
/* Seconds that slow batches have taken longer, up to now. */
double synthetic_slow_s(const struct synthetic *synthetic, int64_t now_ns);
bool synthetic_is_slow(const struct synthetic *synthetic, int64_t now_ns);
double synthetic_kept_bytes(const struct synthetic *synthetic);
/* Figures, processes and workers as they stand. */
void synthetic_tell_figures(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);

#endif
