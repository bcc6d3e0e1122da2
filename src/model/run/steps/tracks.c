#include "src/model/run/steps/tracks.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/run/run_private.h"

enum { RING_FIRST = 64, RING_MIN = 256, RING_MAX = 1 << 20 };

const struct figures no_figures = { 0, 0, NAN, NAN, NAN, NAN, NAN, NAN };

void track_init_empty(struct track *track)
{
	*track = (struct track){ .batch = no_figures,
		.step = no_figures,
		.judged = no_figures,
		.recent = no_figures,
		.rate_per_s = NAN,
		.samples_per_s = NAN,
		.loss = NAN,
		.slow_first_s = NAN,
		.slow_first_kind = NAME_BETWEEN,
		.kind_count = 1 };
}

uint32_t run_mode_of(const struct run *run, uint32_t id)
{
	if (id == run->priv->train)
		return NAME_NONE;
	return id > NAMES_MAX ? MODE_UNKNOWN : id;
}

struct track *run_track(struct run *run, uint32_t mode, bool create)
{
	for (unsigned i = 0; i < run->track_count; i++)
		if (run->tracks[i].mode == mode)
			return &run->tracks[i];
	if (!create || mode == MODE_UNKNOWN || run->track_count == RUN_TRACKS_MAX)
		return NULL;
	const struct model_options *options = &run->priv->options;
	struct track_private *priv = calloc(1, sizeof *priv);
	if (!priv)
		return NULL;
	priv->max = options->batch_capacity < RING_MIN ? RING_MIN
		: options->batch_capacity < RING_MAX       ? options->batch_capacity
												   : RING_MAX;
	priv->flag_window = options->flag_window < 2      ? 2
		: options->flag_window < BASELINE_BATCHES_MAX ? options->flag_window
													  : BASELINE_BATCHES_MAX;
	priv->recent = rolling_new(RUN_RECENT);
	priv->windows[0] = rolling_new(priv->flag_window);
	priv->judged_counts = calloc(HISTOGRAM_BUCKETS, sizeof *priv->judged_counts);
	priv->judged = no_figures;
	priv->micro_batch_ordinal = priv->pace_of_device.next_ordinal = NO_ORDINAL;
	struct track *track = &run->tracks[run->track_count++];
	track_init_empty(track);
	track->mode = mode;
	track->priv = priv;
	return track;
}

void track_release(struct track *track)
{
	if (!track->priv)
		return;
	rolling_free(track->priv->recent);
	for (unsigned i = 0; i < RUN_KINDS_MAX; i++)
		rolling_free(track->priv->windows[i]);
	free(track->priv->judged_counts);
	free(track->priv);
	free(track->ring);
	track->priv = NULL;
	track->ring = NULL;
}

/* The capacity is usually a power of two; masking is faster than the division. */
static size_t slot_of(const struct track *track, uint64_t ordinal)
{
	bool is_power = (track->capacity & (track->capacity - 1)) == 0;
	return (size_t)(is_power ? ordinal & (track->capacity - 1) : ordinal % track->capacity);
}

struct batch *track_slot(struct track *track, uint64_t ordinal)
{
	if (ordinal < track->first || ordinal >= track->end || track->capacity == 0)
		return NULL;
	struct batch *batch = &track->ring[slot_of(track, ordinal)];
	return batch->ordinal == ordinal ? batch : NULL;
}

const struct batch *track_batch(const struct track *track, uint64_t ordinal)
{
	return track_slot((struct track *)(uintptr_t)track, ordinal);
}

/* Grows the ring to `count` batches, or its maximum. If memory runs out it stays as it is, and drops its oldest. */
static void grow(struct track *track, uint64_t count)
{
	size_t max = track->priv->max, capacity = track->capacity ? track->capacity * 2 : RING_FIRST;
	while (capacity < count && capacity < max)
		capacity *= 2;
	if (capacity > max)
		capacity = max;
	struct batch *ring = capacity > track->capacity ? malloc(capacity * sizeof *ring) : NULL;
	if (!ring)
		return;
	for (size_t i = 0; i < capacity; i++)
		ring[i].ordinal = NO_ORDINAL;
	for (uint64_t ordinal = track->first; ordinal < track->end; ordinal++) {
		const struct batch *batch = track_slot(track, ordinal);
		if (batch)
			ring[ordinal % capacity] = *batch;
	}
	free(track->ring);
	track->ring = ring;
	track->capacity = capacity;
}

void track_skip_to(struct track *track, uint64_t ordinal)
{
	if (ordinal <= track->end)
		return;
	if (track->first == track->end)
		track->first = ordinal;
	if (ordinal - track->first > track->capacity && ordinal - track->first <= track->priv->max)
		grow(track, ordinal - track->first);
	track->end = ordinal;
	if (ordinal - track->first > track->capacity)
		track->first = ordinal - track->capacity;
	track->priv->is_changed = true;
}

struct batch *track_append(struct track *track, uint64_t ordinal)
{
	if (track->first == track->end)
		track->first = ordinal;
	if (ordinal - track->first >= track->capacity && track->capacity < track->priv->max &&
		ordinal - track->first < track->priv->max)
		grow(track, ordinal - track->first + 1);
	track->end = ordinal + 1;
	track->priv->is_changed = true;
	if (track->capacity == 0) {
		track->first = track->end;
		return NULL;
	}
	if (ordinal - track->first >= track->capacity)
		track->first = ordinal - track->capacity + 1;
	struct batch *batch = &track->ring[slot_of(track, ordinal)];
	memset(batch, 0, sizeof *batch);
	batch->ordinal = ordinal;
	batch->batch_s = batch->step_s = batch->loss = batch->samples = batch->resident_bytes = batch->allocated_bytes =
		batch->median_s = batch->mad_s = NAN;
	const double unknown = NAN;
	batch->evidence = (struct evidence){ unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown };
	return batch;
}

void track_take_back(struct track *track, uint64_t ordinal)
{
	struct track_private *priv = track->priv;
	struct batch *batch = track_slot(track, ordinal);
	if (batch)
		batch->ordinal = NO_ORDINAL;
	if (ordinal + 1 == track->end)
		track->end--;
	if (track->first > track->end)
		track->first = track->end;
	if (priv->candidates_end == ordinal + 1 && priv->candidates_first == ordinal)
		priv->candidates_end = priv->has_run_first = 0;
	else if (priv->candidates_end == ordinal + 1)
		priv->candidates_end = ordinal;
	priv->is_changed = true;
}
