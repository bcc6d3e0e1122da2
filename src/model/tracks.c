#include <stdlib.h>
#include <string.h>

#include "src/model/run_private.h"

enum { RING_FIRST = 64, RING_LEAST = 256, RING_MOST = 1 << 20, WARMUP_FOLLOWERS = 10, WARMUP_FOLLOWERS_LEAST = 3 };
static const uint64_t NO_ORDINAL = UINT64_MAX;

static const struct figures NO_FIGURES = { 0, 0, NAN, NAN, NAN, NAN, NAN, NAN };

void track_init_empty(struct track *track)
{
	*track = (struct track){ .batch = NO_FIGURES, .step = NO_FIGURES, .judged = NO_FIGURES, .recent = NO_FIGURES,
		.rate_per_s = NAN, .samples_per_s = NAN, .slow_first_s = NAN };
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
	private->most = options->batch_capacity < RING_LEAST ? RING_LEAST : options->batch_capacity < RING_MOST ? options->batch_capacity : RING_MOST;
	private->flag_window = options->flag_window < 2 ? 2 : options->flag_window < USUAL_BATCHES_MOST ? options->flag_window : USUAL_BATCHES_MOST;
	private->window = rolling_new(private->flag_window);
	private->recent = rolling_new(RUN_RECENT);
	private->judged_counts = calloc(HISTOGRAM_BUCKETS, sizeof *private->judged_counts);
	private->judged = NO_FIGURES;
	struct track *track = &run->tracks[run->track_count++];
	track_init_empty(track);
	track->mode = mode;
	track->private = private;
	return track;
}

void track_release(struct track *track)
{
	if (!track->private)
		return;
	rolling_free(track->private->window);
	rolling_free(track->private->recent);
	free(track->private->judged_counts);
	free(track->private);
	free(track->ring);
	track->private = NULL;
	track->ring = NULL;
}

struct batch *track_slot(struct track *track, uint64_t ordinal)
{
	if (ordinal < track->first || ordinal >= track->end || track->capacity == 0)
		return NULL;
	struct batch *batch = &track->ring[ordinal % track->capacity];
	return batch->ordinal == ordinal ? batch : NULL;
}

const struct batch *track_batch(const struct track *track, uint64_t ordinal)
{
	return track_slot((struct track *)(uintptr_t)track, ordinal);
}

/* Makes the ring hold `count` batches, or as many as it may; on failure it stays as it is and drops its oldest. */
static void grow(struct track *track, uint64_t count)
{
	size_t most = track->private->most, capacity = track->capacity ? track->capacity * 2 : RING_FIRST;
	while (capacity < count && capacity < most)
		capacity *= 2;
	if (capacity > most)
		capacity = most;
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
	if (ordinal - track->first > track->capacity && ordinal - track->first <= track->private->most)
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
	if (ordinal - track->first >= track->capacity && track->capacity < track->private->most && ordinal - track->first < track->private->most)
		grow(track, ordinal - track->first + 1);
	track->end = ordinal + 1;
	track->private->is_changed = true;
	if (track->capacity == 0) {
		track->first = track->end;
		return NULL;
	}
	if (ordinal - track->first >= track->capacity)
		track->first = ordinal - track->capacity + 1;
	struct batch *batch = &track->ring[ordinal % track->capacity];
	memset(batch, 0, sizeof *batch);
	batch->ordinal = ordinal;
	batch->batch_s = batch->step_s = batch->loss = batch->samples = batch->resident_bytes = batch->median_s = batch->mad_s = NAN;
	const double unknown = NAN;
	batch->evidence = (struct evidence){ unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown };
	return batch;
}

static void add_judged(struct track_private *private, double step_s)
{
	struct figures *judged = &private->judged;
	judged->min_s = judged->count ? fmin(judged->min_s, step_s) : step_s;
	judged->max_s = judged->count ? fmax(judged->max_s, step_s) : step_s;
	judged->count++;
	judged->total_s += step_s;
	judged->mean_s = judged->total_s / (double)judged->count;
	judged->last_s = step_s;
	if (private->judged_counts)
		private->judged_counts[histogram_bucket((uint64_t)fmin(step_s * 1e9 + 0.5, 0x1p62))]++;
	rolling_push(private->window, step_s);
}

/* The median of the (at most ten) known steps from here on; NAN where there are fewer than three. */
static double median_from(struct track *track, uint64_t ordinal)
{
	double steps[WARMUP_FOLLOWERS];
	size_t count = 0;
	for (; ordinal < track->end && count < WARMUP_FOLLOWERS; ordinal++) {
		const struct batch *batch = track_slot(track, ordinal);
		if (batch && isfinite(batch->step_s))
			steps[count++] = batch->step_s;
	}
	return count >= WARMUP_FOLLOWERS_LEAST ? median_of(steps, count) : NAN;
}

/* One beyond the last batch that belongs to the warm-up, as far as can be said now. */
static uint64_t find_warmup_end(struct track *track, double ratio)
{
	const struct track_private *private = track->private;
	double settled = median_from(track, private->candidates_end);
	uint64_t end = private->candidates_first;
	for (uint64_t ordinal = private->candidates_first; ordinal < private->candidates_end; ordinal++) {
		const struct batch *batch = track_slot(track, ordinal);
		if (!batch || !isfinite(batch->step_s))
			continue;
		bool is_first = ordinal == private->candidates_first && private->has_run_first;
		double median = isnan(settled) ? median_from(track, ordinal + 1) : settled;
		if (!is_first && !(batch->step_s > ratio * median))
			break;
		end = ordinal + 1;
	}
	return end;
}

/* Says anew what the warm-up is and judges what came after it from the start; a matter of twenty steps. */
static void settle_warmup(struct run *run, struct track *track)
{
	struct track_private *private = track->private;
	const struct model_options *options = &run->private->options;
	uint64_t warmup_end = find_warmup_end(track, options->flag_ratio);
	private->judged = NO_FIGURES;
	rolling_clear(private->window);
	if (private->judged_counts)
		memset(private->judged_counts, 0, HISTOGRAM_BUCKETS * sizeof *private->judged_counts);
	for (uint64_t ordinal = track->first; ordinal < track->end; ordinal++) {
		struct batch *batch = track_slot(track, ordinal);
		if (!batch)
			continue;
		batch->is_warmup = ordinal < warmup_end;
		if (!isfinite(batch->step_s))
			continue;
		if (batch->is_warmup)
			private->warmup_end_ns = batch->begin_ns + (int64_t)fmin(batch->step_s * 1e9, 0x1p60);
		else
			add_judged(private, batch->step_s);
	}
	private->is_decided = private->steps >= (uint64_t)options->warmup_most + WARMUP_FOLLOWERS;
}

static bool is_out_of_line(const struct model_options *options, const struct batch *batch)
{
	return batch->step_s > batch->median_s + options->flag_mad * batch->mad_s && batch->step_s > options->flag_ratio * batch->median_s;
}

/* Against the window before it; then it becomes part of the window. */
static void judge(struct run *run, struct track *track, struct batch *batch)
{
	struct track_private *private = track->private;
	const struct model_options *options = &run->private->options;
	size_t before = rolling_count(private->window);
	if (before > 0 && before + 1 >= options->flag_after) {
		batch->median_s = rolling_median(private->window);
		batch->mad_s = rolling_mad(private->window);
		if (!batch->is_by_hand && is_out_of_line(options, batch)) {
			batch->is_flagged = true;
			track->flagged_count++;
			run_add_flagged(run, track, batch);
		}
	}
	add_judged(private, batch->step_s);
}

void track_finish_step(struct run *run, struct track *track, struct batch *batch)
{
	struct track_private *private = track->private;
	private->is_changed = true;
	private->steps++;
	rolling_push(private->recent, batch->step_s);
	if (private->has_run_first && batch->ordinal == private->candidates_first)
		track->slow_first_s = batch->step_s;
	if (private->candidates_end > 0 && !private->is_decided)
		settle_warmup(run, track);
	else
		judge(run, track, batch);
	if (batch->is_by_hand && batch->is_flagged)
		run_renew_flagged(run, track, batch);
}

static void refresh_recent(struct track *track)
{
	const struct track_private *private = track->private;
	struct figures recent = NO_FIGURES;
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

void track_refresh(struct run *run, struct track *track)
{
	struct track_private *private = track->private;
	if (!private->is_changed)
		return;
	private->is_changed = false;
	refresh_totals(run, track->mode, TOTAL_BATCH, &track->batch);
	refresh_totals(run, track->mode, TOTAL_STEP, &track->step);
	track->count = track->batch.count;
	track->judged = private->judged;
	if (private->judged_counts && private->judged.count) {
		track->judged.p50_s = histogram_quantile(private->judged_counts, 0.5, private->judged.min_s, private->judged.max_s);
		track->judged.p95_s = histogram_quantile(private->judged_counts, 0.95, private->judged.min_s, private->judged.max_s);
	}
	refresh_recent(track);
}
