#include "ui/widgets/batch_focus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain_flagged.h"
#include "src/model/run/figures/phases.h"
#include "src/model/run/steps/baseline.h"
#include "src/model/run/steps/flagged.h"
#include "src/model/run/steps/tracks.h"
#include "ui/widgets/parts.h"

void batch_range(const struct track *track, uint64_t *first, uint64_t *end)
{
	*first = track->first;
	*end = track->end;
	while (*end > *first) {
		const struct batch *batch = track_batch(track, *end - 1);
		if (batch && !isnan(batch->step_s))
			break;
		(*end)--;
	}
}

static const struct flagged *find_flagged(const struct run *run, const struct track *track, uint64_t ordinal)
{
	for (size_t i = run->flagged_count; i-- > 0;)
		if (is_mode_of(run, run->flagged[i].mode, track) && run->flagged[i].batch.ordinal == ordinal)
			return &run->flagged[i];
	return NULL;
}

const struct batch *batch_find(
	const struct run *run, const struct track *track, uint64_t ordinal, struct baseline *baseline)
{
	const struct batch *batch = track_batch(track, ordinal);
	const struct flagged *flagged = find_flagged(run, track, ordinal);
	if (baseline && flagged)
		*baseline = flagged->baseline;
	else if (baseline && batch)
		track_baseline(track, ordinal, baseline);
	return batch ? batch : flagged ? &flagged->batch : NULL;
}

const char *batch_kind(
	char out[BATCH_KIND_SIZE], const struct run *run, const struct track *track, const struct batch *batch)
{
	const char *kind = track_kind_name(run, track, batch->kind);
	unsigned accumulation = run_accumulation(run);
	if (batch->micro_batch > 0 && accumulation > 0)
		snprintf(out, BATCH_KIND_SIZE, "micro-batch %u of %u", batch->micro_batch, accumulation);
	else
		snprintf(out, BATCH_KIND_SIZE, "%s%.50s", kind ? "kind: " : "", kind ? kind : "");
	return out;
}

size_t batch_marks(
	const struct run *run, const struct track *track, uint64_t first, uint64_t end, uint64_t out[RUN_MARKS_MAX])
{
	size_t mark = 0, count = 0;
	uint64_t before = UINT64_MAX;
	for (uint64_t ordinal = first; ordinal < end && mark < run->mark_count; ordinal++) {
		const struct batch *batch = track_batch(track, ordinal);

		if (!batch)
			continue;
		for (; mark < run->mark_count && run->marks[mark].time_ns < batch->begin_ns; mark++)
			if (before != UINT64_MAX)
				out[count++] = before;
		before = ordinal;
	}
	for (; mark < run->mark_count && before != UINT64_MAX && end == track->end; mark++)
		out[count++] = before;
	return count;
}

const struct batch *batch_focused(const struct scene *scene, const struct run *run)
{
	const struct track *track = scene_track(scene, run);
	uint64_t first, end;
	batch_range(track, &first, &end);
	if (scene->focus.at_live_end)
		return end > first ? track_batch(track, end - 1) : NULL;
	return batch_find(run, track, scene->focus.batch, NULL);
}

size_t batch_flagged(const struct run *run, const struct track *track, const struct flagged *out[RUN_FLAGGED_MAX])
{
	size_t count = 0;
	for (size_t i = 0; i < run->flagged_count && count < RUN_FLAGGED_MAX; i++)
		if (is_mode_of(run, run->flagged[i].mode, track))
			out[count++] = &run->flagged[i];
	return count;
}

/* -- moving -- */

void batch_focus(struct scene *scene, uint64_t ordinal)
{
	scene->focus.batch = ordinal;
	scene->focus.at_live_end = false;
}

static void move(struct scene *scene, const struct run *run, int64_t by)
{
	uint64_t first, end, from;
	batch_range(scene_track(scene, run), &first, &end);
	if (end == first)
		return;
	from = scene->focus.at_live_end ? end - 1 : scene->focus.batch;
	if (by < 0)
		batch_focus(scene, from >= first + (uint64_t)-by ? from - (uint64_t)-by : first);
	else if (from + (uint64_t)by >= end)
		scene->focus.at_live_end = true;
	else
		batch_focus(scene, from + (uint64_t)by < first ? first : from + (uint64_t)by);
}

/* The nearest candidate ahead of `here`, and the one to wrap around to. */
struct walk {
	int direction;
	bool is_from_live, has_ahead, has_any;
	uint64_t here, ahead, wrap;
};
static void walk_offer(struct walk *walk, uint64_t ordinal)
{
	bool is_newest_wanted = walk->is_from_live || walk->direction < 0;
	bool is_ahead = !walk->is_from_live && (walk->direction > 0 ? ordinal > walk->here : ordinal < walk->here);
	if (!walk->has_any || (is_newest_wanted ? ordinal > walk->wrap : ordinal < walk->wrap))
		walk->wrap = ordinal;
	walk->has_any = true;
	if (is_ahead && (!walk->has_ahead || (walk->direction > 0 ? ordinal < walk->ahead : ordinal > walk->ahead))) {
		walk->ahead = ordinal;
		walk->has_ahead = true;
	}
}

static bool is_number(const char *text) { return text[0] != '\0' && strspn(text, "0123456789/") == strlen(text); }

static bool is_named(const struct run *run, const struct batch *batch, const char *search)
{
	char name[NUMBER_SIZE];
	parts_batch_name(name, run, batch);
	return strcmp(name, search) == 0 || strcmp(strchr(name, '/') + 1, search) == 0;
}

static bool has_cause(const struct flagged *flagged, const char *search)
{
	const struct explanation *why = flagged_explanation(flagged);
	for (size_t i = 0; i < why->cause_count; i++)
		if (parts_matches(why->causes[i].what, search))
			return true;
	return false;
}

static void offer_matches(const struct run *run, const struct track *track, const char *search, struct walk *walk)
{
	const struct flagged *flagged[RUN_FLAGGED_MAX];
	size_t count = batch_flagged(run, track, flagged);
	uint64_t first, end;
	for (size_t i = 0; i < count; i++)
		if (is_named(run, &flagged[i]->batch, search) || (!is_number(search) && has_cause(flagged[i], search)))
			walk_offer(walk, flagged[i]->batch.ordinal);
	if (!is_number(search))
		return;
	batch_range(track, &first, &end);
	for (uint64_t ordinal = first; ordinal < end; ordinal++) {
		const struct batch *batch = track_batch(track, ordinal);

		if (batch && is_named(run, batch, search))
			walk_offer(walk, ordinal);
	}
}

static void offer_flagged(const struct run *run, const struct track *track, struct walk *walk)
{
	const struct flagged *flagged[RUN_FLAGGED_MAX];
	size_t count = batch_flagged(run, track, flagged);
	for (size_t i = 0; i < count; i++)
		walk_offer(walk, flagged[i]->batch.ordinal);
}

static void walk(struct scene *scene, const struct run *run, int direction)
{
	const struct track *track = scene_track(scene, run);
	const char *search = scene->state->search;
	struct walk walk = { .direction = direction, .is_from_live = scene->focus.at_live_end, .here = scene->focus.batch };
	if (search[0] != '\0')
		offer_matches(run, track, search, &walk);
	else
		offer_flagged(run, track, &walk);
	if (walk.has_any)
		batch_focus(scene, walk.has_ahead ? walk.ahead : walk.wrap);
	else if (search[0] != '\0')
		snprintf(scene->message, sizeof scene->message,
			"no batch matches \"%s\": type 7/624, 624, or a phase that made a batch slow", search);
	else
		snprintf(scene->message, sizeof scene->message, "no batch is flagged; f flags the selected batch");
}

static void toggle_flag(struct scene *scene, const struct run *run)
{
	const struct batch *batch = batch_focused(scene, run);
	char name[NUMBER_SIZE];
	if (!batch)
		return;
	bool flagged = !batch->is_flagged;
	uint64_t ordinal = batch->ordinal;

	parts_batch_name(name, run, batch);
	const struct track *track = scene_track(scene, run);
	struct hand_flag flag = { (unsigned)scene->run, track->mode, ordinal, flagged };
	scene->has_hand_flag = model_flag(scene->model, flag.run, (unsigned)(track - run->tracks), ordinal, flagged);
	explain_flagged(scene->model);
	scene->hand_flag = flag;
	if (scene->has_hand_flag)
		snprintf(scene->message, sizeof scene->message, "%s %s by hand", flagged ? "flagged" : "unflagged", name);
	else
		snprintf(scene->message, sizeof scene->message, "%s is no longer retained, so pmtop cannot flag it", name);
	batch_focus(scene, ordinal);
}

static bool close_or_go_live(struct scene *scene)
{
	bool did = scene->focus.is_open || !scene->focus.at_live_end;
	if (!scene->focus.is_open)
		scene->focus.at_live_end = true;
	scene->focus.is_open = false;
	return did;
}

void batch_next_mode(struct scene *scene, const struct run *run)
{
	unsigned at = (unsigned)(scene_track(scene, run) - run->tracks);
	for (unsigned i = 1; i < run->track_count; i++) {
		const struct track *track = &run->tracks[(at + i) % run->track_count];

		if (track->end == track->first)
			continue;
		scene->focus = (struct focus){ .at_live_end = true, .has_mode = track != run_main(run), .mode = track->mode };
		return;
	}
	snprintf(scene->message, sizeof scene->message, "all retained batches have mode %s",
		run_name(run, run->tracks[at].mode));
}

bool batch_key(struct scene *scene, const struct run *run, struct key_event event)
{
	int64_t page = scene->state->plot_columns > 1 ? (int64_t)scene->state->plot_columns : 50;
	uint64_t first, end;
	switch (event.key) {
	case KEY_ARROW_LEFT:
	case 'h': move(scene, run, -1); return true;
	case KEY_ARROW_RIGHT:
	case 'l': move(scene, run, 1); return true;
	case KEY_PAGE_UP: move(scene, run, -page); return true;
	case KEY_PAGE_DOWN: move(scene, run, page); return true;
	case KEY_TO_HOME:
		batch_range(scene_track(scene, run), &first, &end);
		if (end > first)
			batch_focus(scene, first);
		return true;
	case KEY_TO_END: scene->focus.at_live_end = true; return true;
	case 'n': walk(scene, run, 1); return true;
	case 'N': walk(scene, run, -1); return true;
	case 'f': toggle_flag(scene, run); return true;
	case KEY_ESC: return close_or_go_live(scene);
	default: return false;
	}
}

/* -- CSV -- */

enum { WRITTEN_PHASES_MAX = 64 };

static double outermost_seconds(const struct batch *batch, uint32_t name)
{
	const struct phase_time *phase = phase_find(batch->phases, batch->phase_count, name, NAME_NONE);
	return phase ? (double)phase->seconds : NAN;
}

static void write_batch(const struct scene *scene, const struct batch *batch, const struct phase_row *phases,
	size_t count, struct buffer *out)
{
	parts_csv_time(out, true, scene, batch->begin_ns);
	parts_csv_number(out, false, batch->epoch == EPOCH_UNKNOWN ? (double)NAN : (double)batch->epoch);
	parts_csv_integer(out, false, (int64_t)batch->index);
	parts_csv_number(out, false, batch->step_s);
	parts_csv_number(out, false, batch->batch_s);
	parts_csv_number(out, false, batch->loss);
	parts_csv_integer(out, false, batch->is_flagged);
	for (size_t i = 0; i < count; i++)
		if (phases[i].depth == 0)
			parts_csv_number(out, false, outermost_seconds(batch, phases[i].name));
	buffer_puts(out, "\n");
}

void batch_write(const struct scene *scene, uint64_t first, uint64_t end, struct buffer *out)
{
	const struct run *run = scene_run(scene);
	struct phase_row phases[WRITTEN_PHASES_MAX];
	const struct track *track;
	size_t batches, count;
	if (!run)
		return;
	track = scene_track(scene, run);
	count = track_phases(track, RUN_RECENT, phases, WRITTEN_PHASES_MAX, &batches);
	buffer_puts(out, "time_ns,time,epoch,batch,step_s,batch_s,loss,flagged");
	for (size_t i = 0; i < count; i++) {
		char title[160];

		snprintf(title, sizeof title, "%.150s_s", run_name(run, phases[i].name));
		if (phases[i].depth == 0)
			parts_csv_text(out, false, title);
	}
	buffer_puts(out, "\n");
	for (uint64_t ordinal = first; ordinal < end; ordinal++) {
		const struct batch *batch = track_batch(track, ordinal);

		if (batch)
			write_batch(scene, batch, phases, count, out);
	}
}
