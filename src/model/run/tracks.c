#include <stdlib.h>
#include <string.h>

#include "src/model/run/run_private.h"

enum { RING_FIRST = 64, RING_MIN = 256, RING_MAX = 1 << 20 };
static const uint64_t NO_ORDINAL = UINT64_MAX;

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

struct track *run_track(struct run *run, uint32_t mode, bool create)
{
	for (unsigned i = 0; i < run->track_count; i++)
		if (run->tracks[i].mode == mode)
			return &run->tracks[i];
	if (!create || mode == MODE_UNKNOWN || run->track_count == RUN_TRACKS_MAX)
		return NULL;
	const struct model_options *options = &run->private->options;
	struct track_private *private = calloc(1, sizeof *private);
	if (!private)
		return NULL;
	private->max = options->batch_capacity < RING_MIN ? RING_MIN
		: options->batch_capacity < RING_MAX          ? options->batch_capacity
													  : RING_MAX;
	private->flag_window = options->flag_window < 2   ? 2
		: options->flag_window < BASELINE_BATCHES_MAX ? options->flag_window
													  : BASELINE_BATCHES_MAX;
	private->recent = rolling_new(RUN_RECENT);
	struct track *track = &run->tracks[run->track_count++];
	track_init_empty(track);
	track->mode = mode;
	track->private = private;
	track_init_judgement(track);
	return track;
}

void track_release(struct track *track)
{
	if (!track->private)
		return;
	rolling_free(track->private->recent);
	track_release_judgement(track);
	free(track->private);
	free(track->ring);
	track->private = NULL;
	track->ring = NULL;
}

/* The capacity is usually a power of two; masking is faster than the division. */
static size_t place_of(const struct track *track, uint64_t ordinal)
{
	bool is_power = (track->capacity & (track->capacity - 1)) == 0;
	return (size_t)(is_power ? ordinal & (track->capacity - 1) : ordinal % track->capacity);
}

struct batch *track_slot(struct track *track, uint64_t ordinal)
{
	if (ordinal < track->first || ordinal >= track->end || track->capacity == 0)
		return NULL;
	struct batch *batch = &track->ring[place_of(track, ordinal)];
	return batch->ordinal == ordinal ? batch : NULL;
}

const struct batch *track_batch(const struct track *track, uint64_t ordinal)
{
	return track_slot((struct track *)(uintptr_t)track, ordinal);
}

/* Grows the ring to `count` batches, or its maximum. If memory runs out it stays as it is, and drops its oldest. */
static void grow(struct track *track, uint64_t count)
{
	size_t max = track->private->max, capacity = track->capacity ? track->capacity * 2 : RING_FIRST;
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
	if (ordinal - track->first > track->capacity && ordinal - track->first <= track->private->max)
		grow(track, ordinal - track->first);
	track->end = ordinal;
	if (ordinal - track->first > track->capacity)
		track->first = ordinal - track->capacity;
	track->private->is_changed = true;
}

struct batch *track_append(struct track *track, uint64_t ordinal)
{
	if (track->first == track->end)
		track->first = ordinal;
	if (ordinal - track->first >= track->capacity && track->capacity < track->private->max &&
		ordinal - track->first < track->private->max)
		grow(track, ordinal - track->first + 1);
	track->end = ordinal + 1;
	track->private->is_changed = true;
	if (track->capacity == 0) {
		track->first = track->end;
		return NULL;
	}
	if (ordinal - track->first >= track->capacity)
		track->first = ordinal - track->capacity + 1;
	struct batch *batch = &track->ring[place_of(track, ordinal)];
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
	struct track_private *private = track->private;
	struct batch *batch = track_slot(track, ordinal);
	if (batch)
		batch->ordinal = NO_ORDINAL;
	if (ordinal + 1 == track->end)
		track->end--;
	if (track->first > track->end)
		track->first = track->end;
	if (private->candidates_end == ordinal + 1 && private->candidates_first == ordinal)
	private->candidates_end = private->has_run_first = 0;
	else if (private->candidates_end == ordinal + 1) private->candidates_end = ordinal;
	private->is_changed = true;
}

static void refresh_recent(struct track *track)
{
	const struct track_private *private = track->private;
	struct figures recent = no_figures;
	double samples = 0, sampled_s = 0;
	for (uint64_t ordinal = track->end; ordinal-- > track->first && recent.count < RUN_RECENT;) {
		const struct batch *batch = track_slot(track, ordinal);
		if (!batch || !isfinite(batch->step_s))
			continue;
		if (recent.count++ == 0)
			recent.last_s = batch->step_s;
		recent.total_s += batch->step_s;
		recent.min_s = fmin(recent.min_s, batch->step_s);
		recent.max_s = fmax(recent.max_s, batch->step_s);
		if (!isfinite(batch->samples))
			continue;
		samples += batch->samples;
		sampled_s += batch->step_s;
	}
	if (recent.count)
		recent.mean_s = recent.total_s / (double)recent.count;
	recent.p50_s = rolling_median(private->recent);
	recent.p95_s = rolling_quantile(private->recent, 0.95);
	track->recent = recent;
	track->rate_per_s = recent.total_s > 0 ? (double)recent.count / recent.total_s : NAN;
	track->samples_per_s = sampled_s > 0 ? samples / sampled_s : NAN;
}

static void refresh_totals(const struct run *run, uint32_t mode, enum total_kind kind, struct figures *out)
{
	const struct totals *totals = &run->private->totals;
	struct merged_total merged;
	merged_total_init(&merged);
	for (size_t i = 0; i < totals->count; i++)
		if (totals->list[i].key.kind == kind && totals->list[i].key.mode == mode)
			merged_total_add(&merged, &totals->list[i]);
	merged_total_figures(&merged, out);
}

/* For inferred runs the times of batches before pmtop attached are unknown: uses the figures since then, but the full
 * count. */
static void take_seen(const struct track *track, struct figures *out)
{
	if (!isnan(out->max_s) || track->judged.count == 0)
		return;
	double last_s = out->last_s;
	uint64_t count = out->count;
	*out = track->judged;
	out->count = count;
	out->last_s = last_s;
	out->total_s = NAN;
}

void track_refresh(struct run *run, struct track *track)
{
	struct track_private *private = track->private;
	if (!private->is_changed)
		return;
	private->is_changed = false;
	refresh_totals(run, track->mode, TOTAL_BATCH, &track->batch);
	refresh_totals(run, track->mode, TOTAL_STEP, &track->step);
	track->count = track->batch.count;
	track_refresh_judgement(track);
	if (run->is_counted) {
		take_seen(track, &track->batch);
		take_seen(track, &track->step);
	}
	refresh_recent(track);
}
