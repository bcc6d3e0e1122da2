#include "src/export/scrape/scrape_steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "src/base/clock.h"
#include "src/export/figures/scope.h"
#include "src/export/metrics/openmetrics_histogram.h"
#include "src/export/scrape/scrape.h"
#include "src/model/run/steps/tracks.h"

enum { MODES_NAMED_MAX = 3 };

/* -- steps -- */

/* Of each bucket the newest batch in it: its number, and where it is in a recording of the run. */
static void find_exemplars(const struct scrape_subject *subject, const struct track *track,
	char out[RUN_BOUNDS_MAX + 1][OPENMETRICS_EXEMPLAR_SIZE])
{
	const struct model *model = subject->source->model;
	unsigned seen = 0;
	for (uint64_t ordinal = track->end; ordinal-- > track->first && seen < RUN_RECENT; seen++) {
		const struct batch *batch = track_batch(track, ordinal);
		size_t i = 0;
		if (!batch || !isfinite(batch->step_s) || !batch->end_ns)
			continue;
		while (i < openmetrics_step_bounds.count && batch->step_s > openmetrics_step_bounds.s[i])
			i++;
		/* A recording has no batches from before pmtop came. */
		if (!out[i][0] && batch->begin_ns >= model->first_ns)
			snprintf(out[i], OPENMETRICS_EXEMPLAR_SIZE,
				"{batch=\"%" PRIu64 "\",recording_offset_seconds=\"%.3f\"} %.12g %.3f", batch->ordinal,
				seconds_between(model->first_ns, batch->begin_ns), batch->step_s,
				(double)(subject->source->realtime_offset_ns + batch->end_ns) * 1e-9);
	}
}

static void write_steps(struct scrape *scrape)
{
	openmetrics_begin(&scrape->text, "step_seconds", "histogram", "seconds",
		"Steps of the main mode, each from its batch's begin to the next; bounds within 2 %.");
	EACH_SUBJECT(scrape, subject)
	{
		struct run_histogram histogram = { 0 };
		char exemplars[RUN_BOUNDS_MAX + 1][OPENMETRICS_EXEMPLAR_SIZE] = { "" };
		const struct track *track = subject->run && subject->run->track_count ? run_main(subject->run) : NULL;
		if (!track || !run_histogram_add_steps(subject->run, track, &openmetrics_step_bounds, &histogram) ||
			!histogram.count)
			continue;
		if (!scrape->options->is_plain)
			find_exemplars(subject, track, exemplars);
		scrape_label(scrape, subject);
		openmetrics_label(&scrape->text, "mode", scope_mode_name(subject->run, track->mode));
		openmetrics_histogram(&scrape->text, &openmetrics_step_bounds, &histogram, exemplars);
	}
}

static void write_batches(struct scrape *scrape)
{
	openmetrics_begin(&scrape->text, "batches", "counter", "", "Batches finished since the start of the run, by mode.");
	EACH_SUBJECT(scrape, subject)
	{
		const struct run *run = subject->run;
		double others = NAN;
		for (unsigned i = 0; run && i < run->track_count; i++) {
			const char *mode = scope_mode_name(run, run->tracks[i].mode);
			if (i >= MODES_NAMED_MAX || scrape_is_other(mode)) {
				others = (isnan(others) ? 0 : others) + (double)run->tracks[i].count;
				continue;
			}
			scrape_label(scrape, subject);
			openmetrics_label(&scrape->text, "mode", mode);
			openmetrics_sample(&scrape->text, "_total", NULL, (double)run->tracks[i].count);
		}
		scrape_label(scrape, subject);
		openmetrics_label(&scrape->text, "mode", SCRAPE_OTHER);
		openmetrics_sample(&scrape->text, "_total", NULL, others);
	}
}

/* -- phases -- */

static bool is_phase(const struct operation *operation, uint32_t mode)
{
	return operation->mode == mode && operation->parent == NAME_NONE && operation->count &&
		operation->name < NAME_SAMPLED;
}

/* Names have ascending ids as they are first used, so a phase that is named stays named. */
static size_t place_of(const struct run *run, const struct operation *phase, uint32_t mode)
{
	size_t before = 0;
	for (size_t i = 0; i < run->operation_count; i++)
		before += is_phase(&run->operations[i], mode) && run->operations[i].name < phase->name;
	return before;
}

static void write_phases_of(struct scrape *scrape, const struct scrape_subject *subject)
{
	const struct run *run = subject->run;
	struct run_histogram others = { 0 };
	uint32_t mode = run_main(run)->mode;
	for (size_t i = 0; i < run->operation_count; i++) {
		const struct operation *phase = &run->operations[i];
		struct run_histogram histogram = { 0 };
		bool is_named = is_phase(phase, mode) && place_of(run, phase, mode) < SCRAPE_PHASES_MAX &&
			!scrape_is_other(run_name(run, phase->name));
		if (!is_phase(phase, mode) ||
			!run_histogram_add_spans(
				run, mode, phase->name, &openmetrics_phase_bounds, is_named ? &histogram : &others) ||
			!is_named)
			continue;
		scrape_label(scrape, subject);
		openmetrics_label(&scrape->text, "phase", run_name(run, phase->name));
		openmetrics_histogram(&scrape->text, &openmetrics_phase_bounds, &histogram, NULL);
	}
	if (!others.count)
		return;
	scrape_label(scrape, subject);
	openmetrics_label(&scrape->text, "phase", SCRAPE_OTHER);
	openmetrics_histogram(&scrape->text, &openmetrics_phase_bounds, &others, NULL);
}

static void write_phases(struct scrape *scrape)
{
	openmetrics_begin(&scrape->text, "phase_seconds", "histogram", "seconds",
		"Outermost spans of the main mode, by name; bounds within 2 %.");
	EACH_SUBJECT(scrape, subject)
	if (subject->run && subject->run->track_count)
		write_phases_of(scrape, subject);
}

size_t scrape_phase_count(const struct run *run)
{
	size_t count = 0;
	for (size_t i = 0; run->track_count && i < run->operation_count; i++)
		count += is_phase(&run->operations[i], run_main(run)->mode);
	return count;
}

void scrape_steps(struct scrape *scrape)
{
	write_steps(scrape);
	write_batches(scrape);
	write_phases(scrape);
}
