#include "src/model/run/figures/track_figures.h"

#include "src/model/run/figures/totals.h"
#include "src/model/run/run_private.h"
#include "src/model/run/steps/tracks.h"

static void refresh_totals(const struct run *run, uint32_t mode, enum total_kind kind, struct figures *out)
{
	const struct totals *totals = &run->priv->totals;
	struct merged_total merged;
	merged_total_init(&merged);
	for (size_t i = 0; i < totals->count; i++)
		if (totals->list[i].key.kind == kind && totals->list[i].key.mode == mode)
			merged_total_add(&merged, &totals->list[i]);
	merged_total_figures(&merged, out);
}

/* The durations of batches before pmtop's start are unknown, so the figures are those of the batches since. */
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

static void refresh_judged(struct track *track)
{
	const struct track_private *priv = track->priv;
	track->judged = priv->judged;
	if (priv->judged_counts && priv->judged.count) {
		double quantiles[2];
		histogram_quantiles(
			priv->judged_counts, 2, (const double[]){ 0.5, 0.95 }, priv->judged.min_s, priv->judged.max_s, quantiles);
		track->judged.p50_s = quantiles[0];
		track->judged.p95_s = quantiles[1];
	}
	for (unsigned i = 0; i < track->kind_count; i++) {
		track->kinds[i].median_s = rolling_median(priv->windows[i]);
		track->kinds[i].p95_s = rolling_quantile(priv->windows[i], 0.95);
	}
}

static void refresh_recent(struct track *track)
{
	const struct track_private *priv = track->priv;
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
	recent.p50_s = rolling_median(priv->recent);
	recent.p95_s = rolling_quantile(priv->recent, 0.95);
	track->recent = recent;
	track->rate_per_s = recent.total_s > 0 ? (double)recent.count / recent.total_s : NAN;
	track->samples_per_s = sampled_s > 0 ? samples / sampled_s : NAN;
}

void track_refresh(struct run *run, struct track *track)
{
	struct track_private *priv = track->priv;
	if (!priv->is_changed)
		return;
	priv->is_changed = false;
	refresh_totals(run, track->mode, TOTAL_BATCH, &track->batch);
	refresh_totals(run, track->mode, TOTAL_STEP, &track->step);
	track->count = track->batch.count;
	refresh_judged(track);
	if (run->is_counted) {
		take_seen(track, &track->batch);
		take_seen(track, &track->step);
	}
	refresh_recent(track);
}
