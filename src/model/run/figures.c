#include <stdio.h>
#include <string.h>

#include "src/model/run/run_private.h"

void run_note_number(struct run *run, unsigned track, uint64_t ordinal, uint64_t number)
{
	run->private->numbered[number % NUMBERED_MAX] = (struct numbered){ true, track, number, ordinal };
}

static struct batch *find_numbered(struct run *run, uint64_t number, struct track **track)
{
	const struct numbered *at = &run->private->numbered[number % NUMBERED_MAX];
	if (!at->is_used || at->number != number)
		return NULL;
	*track = &run->tracks[at->track];
	struct batch *batch = track_slot(*track, at->ordinal);
	return batch && batch->number == number ? batch : NULL;
}

/* -- the loss -- */

void run_note_loss(struct track *track, uint64_t number, double loss)
{
	struct track_private *private = track->private;
	if (isnan(loss) || (!isnan(track->loss) && number < private->loss_number))
		return;
	track->loss = loss;
	private->loss_number = number;
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

const struct late_figure *run_late_figure(
	const struct run *run, uint32_t name, uint32_t mode, const struct rolling **window)
{
	for (size_t i = 0; name && i < run->late_figure_count; i++) {
		if (run->late_figures[i].name == name && run->late_figures[i].mode == mode) {
			if (window)
				*window = run->private->late_windows[i];
			return &run->late_figures[i];
		}
	}
	return NULL;
}

static void add_late(struct run *run, uint32_t name, uint32_t mode, double value)
{
	size_t at = 0;
	while (at < run->late_figure_count && (run->late_figures[at].name != name || run->late_figures[at].mode != mode))
		at++;
	if (at == RUN_LATE_FIGURES_MAX)
		return;
	struct late_figure *figure = &run->late_figures[at];
	struct rolling **window = &run->private->late_windows[at];
	if (at == run->late_figure_count) {
		run->late_figure_count++;
		*figure = (struct late_figure){ .name = name, .mode = mode };
		*window = rolling_new(RUN_RECENT);
	}
	figure->last = value;
	figure->count++;
	figure->mean += (value - figure->mean) / (double)figure->count;
	rolling_push(*window, value);
	figure->median = rolling_median(*window);
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
	if (name == run->private->loss) {
		if (batch)
			batch->loss = value;
		if (track)
			run_note_loss(track, number, value);
	} else {
		uint32_t mode = track ? track->mode : run->private->mode;
		if (batch)
			attach(batch, name, value);
		if (mode != MODE_UNKNOWN)
			add_late(run, name, mode, value);
		if (batch && name == run->private->device_batch)
			device_pace_hear(run, track, batch, value);
	}
	if (track)
		track->private->is_changed = true;
	if (batch && batch->is_flagged)
		run_renew_flagged(run, track, batch);
}

enum figure_unit late_figure_label(char *out, size_t size, const char *name)
{
	static const struct {
		const char *suffix;
		enum figure_unit unit;
	} units[] = { { "_s", FIGURE_SECONDS }, { "_bytes", FIGURE_BYTES }, { "_ratio", FIGURE_RATIO } };
	size_t length = strlen(name);
	enum figure_unit unit = FIGURE_NUMBER;
	for (size_t i = 0; i < sizeof units / sizeof *units && unit == FIGURE_NUMBER; i++) {
		size_t suffix = strlen(units[i].suffix);
		if (length <= suffix || strcmp(name + length - suffix, units[i].suffix) != 0)
			continue;
		unit = units[i].unit;
		length -= suffix;
	}
	bool is_of_gpu = strncmp(name, "gpu.", 4) == 0 && length > 4;
	size_t skipped = is_of_gpu ? 4 : 0;
	snprintf(out, size, "%.*s%s", (int)(length - skipped), name + skipped,
		!is_of_gpu                   ? ""
			: unit == FIGURE_SECONDS ? " (GPU clock)"
									 : " (GPU)");
	return unit;
}

void run_release_figures(struct run *run)
{
	for (size_t i = 0; i < run->late_figure_count; i++)
		rolling_free(run->private->late_windows[i]);
}
