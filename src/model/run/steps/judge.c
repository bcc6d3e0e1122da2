/* Which batches are out of line: the warm-up, and the medians of each kind that batches are held against. */
#include "src/model/run/steps/judge.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/run/run_private.h"
#include "src/model/run/steps/device_pace.h"
#include "src/model/run/steps/flagged.h"
#include "src/model/run/steps/tracks.h"

enum { WARMUP_FOLLOWERS = 10, WARMUP_FOLLOWERS_MIN = 3 };

/* -- kinds -- */

static uint32_t add_kind(struct track *track, uint32_t kind)
{
	if (kind == NAME_NONE || kind > NAMES_MAX)
		return NAME_NONE;
	if (track_kind(track, kind))
		return kind;
	if (track->kind_count == RUN_KINDS_MAX)
		return NAME_NONE;
	track->priv->windows[track->kind_count] = rolling_new(track->priv->flag_window);
	track->kinds[track->kind_count++] = (struct batch_kind){ .kind = kind, .median_s = NAN, .p95_s = NAN };
	return kind;
}

/* Sets the position in the gradient accumulation, counted from an optimizer step. It is unknown until the first one,
 * and after losses. */
static void set_micro_batch(const struct run *run, struct track *track, struct batch *batch)
{
	struct track_private *priv = track->priv;
	uint32_t accumulate = run->priv->accumulate;
	bool is_step = batch->kind == NAME_NONE,
		 has_before = priv->micro_batch_ordinal != NO_ORDINAL && priv->micro_batch_ordinal + 1 == batch->ordinal;
	if (!accumulate || !track_kind(track, accumulate) || (!is_step && batch->kind != accumulate))
		return;
	bool is_begin = batch->ordinal == 0 && priv->has_run_first;
	batch->micro_batch = is_begin ? 1 : has_before ? priv->micro_batch + 1 : 0;
	priv->micro_batch = is_step ? 0 : batch->micro_batch;
	priv->micro_batch_ordinal = is_step || batch->micro_batch ? batch->ordinal : NO_ORDINAL;
}

void track_set_kind(const struct run *run, struct track *track, struct batch *batch, uint32_t kind)
{
	batch->kind = add_kind(track, kind);
	set_micro_batch(run, track, batch);
}

/* -- the warm-up -- */

static void add_judged(struct track *track, const struct batch *batch)
{
	struct track_private *priv = track->priv;
	struct figures *judged = &priv->judged;
	double step_s = batch_pace_s(batch);
	judged->min_s = judged->count ? fmin(judged->min_s, step_s) : step_s;
	judged->max_s = judged->count ? fmax(judged->max_s, step_s) : step_s;
	judged->count++;
	judged->total_s += step_s;
	judged->mean_s = judged->total_s / (double)judged->count;
	judged->last_s = step_s;
	if (priv->judged_counts)
		priv->judged_counts[histogram_bucket((uint64_t)fmin(step_s * 1e9 + 0.5, 0x1p62))]++;
	rolling_push(priv->windows[track_kind(track, batch->kind)], step_s);
}

/* The median of the next (at most ten) known steps of a kind; NAN with fewer than three. */
static double median_from(struct track *track, uint64_t ordinal, uint32_t kind)
{
	double steps[WARMUP_FOLLOWERS];
	size_t count = 0;
	for (ordinal = ordinal < track->first ? track->first : ordinal; ordinal < track->end && count < WARMUP_FOLLOWERS;
		 ordinal++) {
		const struct batch *batch = track_slot(track, ordinal);
		if (batch && batch->kind == kind && isfinite(batch->step_s))
			steps[count++] = batch_pace_s(batch);
	}
	return count >= WARMUP_FOLLOWERS_MIN ? median_of(steps, count) : NAN;
}

static bool is_run_first(const struct track_private *priv, uint64_t ordinal)
{
	return priv->has_run_first && ordinal == priv->candidates_first;
}

/* Marks the batches of the warm-up, as far as known. */
static void find_warmup(struct track *track, double ratio)
{
	const struct track_private *priv = track->priv;
	bool is_over[RUN_KINDS_MAX] = { false };
	for (uint64_t ordinal = track->first; ordinal < track->end; ordinal++) {
		struct batch *batch = track_slot(track, ordinal);
		if (!batch)
			continue;
		unsigned kind = track_kind(track, batch->kind);
		batch->is_warmup = is_run_first(priv, ordinal);
		if (ordinal >= priv->candidates_end || ordinal < priv->candidates_first || !isfinite(batch->step_s) ||
			batch->is_warmup || is_over[kind])
			continue;
		double settled = median_from(track, priv->candidates_end, batch->kind);
		batch->is_warmup =
			batch->step_s > ratio * (isnan(settled) ? median_from(track, ordinal + 1, batch->kind) : settled);
		is_over[kind] = !batch->is_warmup;
	}
}

int64_t run_warmup_end(const struct run *run)
{
	int64_t end_ns = 0;
	for (unsigned i = 0; i < run->track_count; i++) {
		const struct track_private *priv = run->tracks[i].priv;
		if (priv->has_run_first && priv->warmup_end_ns == 0)
			return INT64_MAX;
		if (priv->warmup_end_ns > end_ns)
			end_ns = priv->warmup_end_ns;
	}
	return end_ns;
}

/* Says anew what the warm-up is and judges what came after it from the start; a matter of twenty steps. */
static void settle_warmup(struct run *run, struct track *track)
{
	struct track_private *priv = track->priv;
	const struct model_options *options = &run->priv->options;
	find_warmup(track, options->flag_ratio);
	priv->judged = no_figures;
	for (unsigned i = 0; i < track->kind_count; i++)
		rolling_clear(priv->windows[i]);
	if (priv->judged_counts)
		memset(priv->judged_counts, 0, HISTOGRAM_BUCKETS * sizeof *priv->judged_counts);
	device_pace_restart(track);
	for (uint64_t ordinal = track->first; ordinal < track->end; ordinal++) {
		struct batch *batch = track_slot(track, ordinal);
		if (!batch || !isfinite(batch->step_s))
			continue;
		device_pace_take(run, track, batch);
		if (batch->is_warmup)
			priv->warmup_end_ns = batch->begin_ns + (int64_t)fmin(batch->step_s * 1e9, 0x1p60);
		else
			add_judged(track, batch);
	}
	priv->is_decided = priv->steps >= (uint64_t)options->warmup_max + WARMUP_FOLLOWERS;
}

/* -- flags -- */

static bool is_out_of_line(const struct model_options *options, const struct batch *batch)
{
	double pace_s = batch_pace_s(batch);
	return pace_s > batch->median_s + options->flag_mad * batch->mad_s &&
		pace_s > options->flag_ratio * batch->median_s;
}

/* A step under a profiler is slower for a known reason. */
static bool is_profiled(const struct run *run, const struct batch *batch)
{
	return run->priv->profile && batch->kind == run->priv->profile;
}

/* Judges a batch against the window before it, then adds it to the window. */
static void judge(struct run *run, struct track *track, struct batch *batch)
{
	const struct rolling *window = track->priv->windows[track_kind(track, batch->kind)];
	const struct model_options *options = &run->priv->options;
	size_t before = rolling_count(window);
	if (before > 0 && before + 1 >= options->flag_after) {
		batch->median_s = rolling_median(window);
		batch->mad_s = rolling_mad(window);
		bool is_mean =
			run->is_counted && batch->median_s < RUN_COUNTED_SINGLY_S && !(batch->step_s >= RUN_COUNTED_SLOW_S);
		if (!batch->is_by_hand && !is_mean && !is_profiled(run, batch) && is_out_of_line(options, batch))
			run_add_flagged(run, track, batch);
	}
	add_judged(track, batch);
}

void track_finish_step(struct run *run, struct track *track, struct batch *batch)
{
	struct track_private *priv = track->priv;
	priv->is_changed = true;
	priv->steps++;
	track->kinds[track_kind(track, batch->kind)].count++;
	rolling_push(priv->recent, batch_pace_s(batch));
	if (is_run_first(priv, batch->ordinal)) {
		track->slow_first_s = batch->step_s;
		track->slow_first_kind = batch->kind;
	}
	if (priv->candidates_end > 0 && !priv->is_decided)
		settle_warmup(run, track);
	else
		judge(run, track, batch);
	if (batch->is_by_hand && batch->is_flagged)
		run_renew_flagged(run, track, batch);
}
