#include "src/model/run/figures/figures.h"

#include <string.h>

#include "src/model/run/figures/late_figures.h"
#include "src/model/run/run_private.h"
#include "src/model/run/steps/device_pace.h"
#include "src/model/run/steps/flagged.h"
#include "src/model/run/steps/tracks.h"

void run_note_number(struct run *run, unsigned track, uint64_t ordinal, uint64_t number)
{
	run->priv->numbered[number % NUMBERED_MAX] = (struct numbered){ true, track, number, ordinal };
}

static struct batch *find_numbered(struct run *run, uint64_t number, struct track **track)
{
	const struct numbered *at = &run->priv->numbered[number % NUMBERED_MAX];
	if (!at->is_used || at->number != number)
		return NULL;
	*track = &run->tracks[at->track];
	struct batch *batch = track_slot(*track, at->ordinal);
	return batch && batch->number == number ? batch : NULL;
}

/* -- the loss -- */

void run_note_loss(struct track *track, uint64_t number, double loss)
{
	struct track_private *priv = track->priv;
	if (isnan(loss) || (!isnan(track->loss) && number < priv->loss_number))
		return;
	track->loss = loss;
	priv->loss_number = number;
}

/* The state's loss may be of any mode, so it is used only if there is a single mode. */
void run_refresh_loss(struct run *run)
{
	const struct track *track = run_main(run);
	bool has_others = false;
	for (unsigned i = 0; i < run->track_count; i++)
		has_others = has_others || (i != run->main_track && run->tracks[i].count);
	run->loss = isnan(track->loss) && !has_others ? run->state.loss : track->loss;
}

/* -- other figures -- */

static void attach(struct batch *batch, uint32_t name, double value)
{
	unsigned at = 0;
	while (at < batch->figure_count && batch->figures[at].name != name)
		at++;
	if (at == RUN_BATCH_FIGURES_MAX)
		return;
	batch->figures[at].name = name;
	batch->figures[at].value = (float)value;
	batch->figure_count += at == batch->figure_count;
}

double batch_figure(const struct run *run, const struct batch *batch, const char *name)
{
	for (unsigned i = 0; i < batch->figure_count; i++)
		if (strcmp(run_name(run, batch->figures[i].name), name) == 0)
			return (double)batch->figures[i].value;
	return NAN;
}

void run_take_figure(struct run *run, const struct record *record)
{
	uint64_t number = record->batch_figure.number;
	uint32_t name = name_of_thing(record->batch_figure.name);
	double value = record->batch_figure.value;
	struct track *track = NULL;
	struct batch *batch = find_numbered(run, number, &track);
	if (!isfinite(value))
		return;
	if (name == run->priv->loss) {
		if (batch)
			batch->loss = value;
		if (track)
			run_note_loss(track, number, value);
	} else {
		uint32_t mode = track ? track->mode : run->priv->mode;
		if (batch)
			attach(batch, name, value);
		if (mode != MODE_UNKNOWN)
			run_add_late_figure(run, name, mode, value);
		if (batch && name == run->priv->device_batch && device_pace_hear(run, track, batch, value)) {
			batch->is_by_device = true;
			run_add_flagged(run, track, batch);
		}
	}
	if (track)
		track->priv->is_changed = true;
	if (batch && batch->is_flagged)
		run_renew_flagged(run, track, batch);
}
