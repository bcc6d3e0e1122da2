#include "src/model/run/refresh.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/run/eta.h"
#include "src/model/run/figures/epochs.h"
#include "src/model/run/figures/figures.h"
#include "src/model/run/figures/late_figures.h"
#include "src/model/run/figures/operations.h"
#include "src/model/run/figures/totals.h"
#include "src/model/run/figures/track_figures.h"
#include "src/model/run/published.h"
#include "src/model/run/records.h"
#include "src/model/run/run_private.h"
#include "src/model/run/steps/flagged.h"
#include "src/model/run/steps/tracks.h"

enum { TREND_BATCHES_MIN = 20, TREND_POINTS_MAX = 64 };
#define RENEW_NS NS_PER_S
/* Shares need not be updated faster, and computing them reads 200 batches. */
#define PHASES_NS (450 * NS_PER_MS)

bool run_open(struct run *run, const struct record *opened, const struct model_options *options)
{
	struct run_private *priv = calloc(1, sizeof *priv);
	if (!priv)
		return false;
	*run = (struct run){ .is_used = true,
		.is_live = opened->opened.is_live,
		.id = opened->run,
		.pid = opened->opened.pid,
		.inner_pid = opened->opened.inner_pid,
		.start_ns = opened->opened.start_ns,
		.loss = NAN,
		.loss_trend = NAN,
		.epoch_done_ratio = NAN,
		.epoch_eta_s = NAN,
		.run_done_ratio = NAN,
		.run_eta_s = NAN,
		.priv = priv };
	run->state.loss = NAN;
	put_text(run->name, sizeof run->name, opened->opened.name);
	put_text(run->uuid, sizeof run->uuid, opened->opened.uuid);
	put_text(run->abi, sizeof run->abi, opened->opened.abi);
	run->is_counted = strcmp(run->abi, "counted") == 0;
	priv->options = *options;
	priv->between = NAME_BETWEEN;
	priv->bin_width = 1;
	priv->is_opening = true;
	priv->resident_bytes = priv->process_state = NAN;
	priv->was_live = opened->opened.is_live;
	for (unsigned i = 0; i < RUN_TRACKS_MAX; i++)
		track_init_empty(&run->tracks[i]);
	return true;
}

void run_release(struct run *run)
{
	struct run_private *priv = run->priv;
	if (!priv)
		return;
	for (unsigned i = 0; i < run->track_count; i++)
		track_release(&run->tracks[i]);
	run_release_published(run);
	run_release_late_figures(run);
	totals_release(&priv->totals);
	free(priv->lanes);
	requests_free(run->requests);
	run_release_flagged(run);
	free(priv->operation_sources);
	free(run->operations);
	free(run->bins);
	free(run->epochs);
	free(priv);
	*run = (struct run){ 0 };
}

/* Training if it ever occurred, else the current mode. */
static void choose_main_track(struct run *run)
{
	uint32_t current = run->priv->mode;
	for (unsigned i = 0; i < run->track_count; i++) {
		if (run->tracks[i].mode == NAME_NONE) {
			run->main_track = i;
			return;
		}
		if (run->tracks[i].mode == current)
			run->main_track = i;
	}
}

/* If pmtop attached late, the first batch is known as long as it has its own bin. */
static void refresh_slow_first(struct run *run)
{
	struct track *track = &run->tracks[run->main_track];
	for (unsigned i = 0; i < run->track_count; i++)
		if (run->tracks[i].priv->has_run_first)
			return;
	if (isnan(track->slow_first_s) && run->bin_count && run->bins[0].first == 0 && run->bins[0].count == 1)
		track->slow_first_s = run->bins[0].sum_s;
}

static double loss_trend(const struct track *track)
{
	double x[RUN_RECENT], y[RUN_RECENT], few_x[TREND_POINTS_MAX], few_y[TREND_POINTS_MAX];
	size_t count = 0, few = 0, seen = 0;
	for (uint64_t ordinal = track->end; ordinal-- > track->first && seen < RUN_RECENT;) {
		const struct batch *batch = track_batch(track, ordinal);
		if (!batch)
			continue;
		seen++;
		if (!isfinite(batch->loss))
			continue;
		x[count] = -(double)seen;
		y[count++] = batch->loss;
	}
	for (size_t i = 0; i < count; i++) {
		if (count > TREND_POINTS_MAX && i * TREND_POINTS_MAX / count != few)
			continue;
		few_x[few] = x[i];
		few_y[few++] = y[i];
	}
	struct slope slope;
	if (count < TREND_BATCHES_MIN || !theil_sen(few_x, few_y, few, &slope))
		return NAN;
	return slope.low_per_s > 0 ? 1 : slope.high_per_s < 0 ? -1 : 0;
}

static void refresh_phases(struct run *run, int64_t now_ns)
{
	struct run_private *priv = run->priv;
	priv->has_new_phases |= priv->is_changed;
	if (!priv->has_new_phases || (priv->phases_ns && now_ns < priv->phases_ns + PHASES_NS && !priv->closed_ns))
		return;
	for (unsigned i = 0; i < run->track_count; i++)
		run->tracks[i].priv->phases.is_valid = false;
	priv->has_new_phases = false;
	priv->phases_ns = now_ns;
}

void run_refresh(struct run *run, int64_t now_ns)
{
	struct run_private *priv = run->priv;
	if (priv->closed_ns && priv->closed_ns < now_ns)
		now_ns = priv->closed_ns;
	run_settle_past(run, NULL, 0);
	if (priv->is_lost_in_set)
		run_reconcile_epochs(run);
	priv->is_lost_in_set = false;
	run_refresh_epochs(run, now_ns);
	choose_main_track(run);
	refresh_phases(run, now_ns);
	if (priv->is_changed) {
		bool is_renewal = priv->renewed_ns == 0 || now_ns >= priv->renewed_ns + RENEW_NS || priv->closed_ns;
		for (unsigned i = 0; i < run->track_count; i++) {
			track_refresh(run, &run->tracks[i]);
			run->tracks[i].priv->pace.is_valid &= !is_renewal;
		}
		refresh_slow_first(run);
		run_refresh_loss(run);
		run_refresh_operations(run, is_renewal);
		if (is_renewal) {
			run->loss_trend = loss_trend(run_main(run));
			priv->renewed_ns = now_ns;
		}
		priv->is_changed = false;
	}
	run_refresh_eta(run, now_ns);
}
