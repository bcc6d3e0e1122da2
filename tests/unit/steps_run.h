/* steps_run.h: a run of seeded synthetic steps in one track made by hand. */
#ifndef PMTOP_TESTS_STEPS_RUN_H
#define PMTOP_TESTS_STEPS_RUN_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/patterns/patterns.h"

enum { STEPS_RING = 8192, STEPS_BASE_S = 1000 };

struct chance {
	uint64_t state;
};

static inline double chance_even(struct chance *chance)
{
	chance->state = chance->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	uint64_t mixed = (chance->state ^ (chance->state >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
	return ((double)((mixed ^ (mixed >> 32)) >> 11) + 0.5) * 0x1p-53;
}

static inline double chance_normal(struct chance *chance)
{
	return sqrt(-2 * log(chance_even(chance))) * cos(2 * 3.14159265358979323846 * chance_even(chance));
}

struct steps_run {
	struct model model;
	struct run run;
	struct patterns patterns;
	uint64_t epoch_length; /* 0 = all in one */
	double now_s;
};

static inline void steps_open(struct steps_run *steps)
{
	memset(steps, 0, sizeof *steps);
	struct batch *ring = calloc(STEPS_RING, sizeof *ring);
	if (!ring)
		abort();
	for (size_t i = 0; i < STEPS_RING; i++)
		ring[i].ordinal = UINT64_MAX;
	steps->run = (struct run){ .is_used = true, .is_live = true, .track_count = 1 };
	steps->run.tracks[0] = (struct track){ .ring = ring, .capacity = STEPS_RING, .kind_count = 1 };
	steps->run.tracks[0].recent.p50_s = 0.1;
	steps->now_s = STEPS_BASE_S;
}

static inline void steps_close(struct steps_run *steps) { free(steps->run.tracks[0].ring); }

static inline struct batch *steps_add(struct steps_run *steps, double step_s)
{
	struct track *track = &steps->run.tracks[0];
	uint64_t ordinal = track->end++, length = steps->epoch_length ? steps->epoch_length : UINT64_MAX;
	struct batch *batch = &track->ring[ordinal % STEPS_RING];
	track->first = track->end > STEPS_RING ? track->end - STEPS_RING : 0;
	*batch = (struct batch){ .ordinal = ordinal,
		.number = ordinal,
		.index = ordinal % length,
		.epoch = (uint32_t)(ordinal / length),
		.epoch_ordinal = (uint32_t)(ordinal / length + 1),
		.begin_ns = (int64_t)(steps->now_s * 1e9),
		.batch_s = step_s * 0.9,
		.step_s = step_s,
		.samples = NAN,
		.loss = NAN,
		.median_s = NAN,
		.mad_s = NAN };
	steps->now_s += step_s;
	batch->end_ns = (int64_t)(steps->now_s * 1e9);
	track->count = track->end;
	return batch;
}

/* Advances five seconds, so that the search runs again. */
static inline const struct patterns *steps_search(struct steps_run *steps)
{
	int64_t now_ns = (int64_t)(steps->now_s * 1e9);
	steps->model.now_ns = now_ns > steps->model.now_ns + 5 * NS_PER_S ? now_ns : steps->model.now_ns + 5 * NS_PER_S;
	patterns_update(&steps->patterns, &steps->model, &steps->run);
	return &steps->patterns;
}

#endif
