#include "src/export/trace/trace_batches.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/explain/causes/causes_words.h"
#include "src/export/figures/scope.h"
#include "src/export/trace/trace_happenings.h"
#include "src/export/trace/trace_private.h"
#include "src/export/trace/trace_tracks.h"
#include "src/export/trace/trace_write.h"

const char *trace_name_text(const struct trace_run *run, uint32_t id)
{
	return id < run->name_count && run->names[id].text ? run->names[id].text : "?";
}

static const struct trace_track *track_of(
	struct trace *trace, struct trace_run *run, struct trace_run_lane *lane, unsigned index)
{
	char name[64];
	if (lane->tracks[index] || !run->process)
		return lane->tracks[index];
	if (index)
		snprintf(name, sizeof name, "lane %u, beside %u", lane->number, index);
	else
		snprintf(name, sizeof name, "lane %u", lane->number);
	lane->tracks[index] = trace_track(
		trace, index ? TRACE_TRACK : TRACE_LANE, TRACE_NUMBER, run->process, name, index ? 50 : (int)lane->number);
	return lane->tracks[index];
}

/* -- a batch and its spans -- */

static void write_figures(struct trace_slice *slice, const struct finished_batch *written)
{
	const struct batch *batch = written->batch;
	note_number(slice, "samples", batch->samples);
	note_number(slice, "step_s", batch->step_s);
	note_true(slice, "warmup", batch->is_warmup);
	if (batch->epoch_ordinal && batch->epoch != EPOCH_UNKNOWN)
		note_count(slice, "epoch", batch->epoch);
	for (unsigned i = 0; i < batch->figure_count; i++)
		note_number(slice, run_name(written->run, batch->figures[i].name), (double)batch->figures[i].value);
	if (!batch->has_evidence)
		return;
	note_number(slice, "cpu_s", batch->evidence.cpu_s);
	note_number(slice, "run_queue_wait_s", batch->evidence.run_queue_wait_s);
	note_number(slice, "major_faults", batch->evidence.major_faults);
}

/* Storage for a slice's texts. */
struct texts {
	char name[160], cause[192];
};

static void fill_batch(struct trace *trace, const struct trace_run *run, const struct lane_slice *from,
	const struct finished_batch *written, struct trace_slice *slice, struct texts *texts)
{
	struct explanation room;
	const struct explanation *why = written ? finished_explain(written, trace->scene, &room) : NULL;
	const char *mode = written ? scope_mode_name(written->run, written->track->mode) : "train";
	snprintf(texts->name, sizeof texts->name, "%s%sbatch", written && written->track->mode != NAME_NONE ? mode : "",
		written && written->track->mode != NAME_NONE ? " " : "");
	slice->name = texts->name;
	slice->category = "batch";
	slice->is_batch = true;
	slice->has_mode = written && written->track->mode != NAME_NONE;
	slice->number = from->batch.number;
	note_count(slice, "number", from->batch.number);
	note_count(slice, "index", from->batch.index);
	note_number(slice, "loss", written ? written->batch->loss : from->batch.loss);
	if (written)
		write_figures(slice, written);
	if (why) {
		note_true(slice, "flagged", true);
		note_number(slice, "usual_s", why->baseline_s);
		snprintf(texts->cause, sizeof texts->cause, "%s", why->cause_count ? why->causes[0].what : "");
		note_text(slice, "cause", texts->cause);
	}
	trace_join_alerts(trace, run, slice);
}

static void fill_span(const struct trace_run *run, const struct lane_slice *from, struct trace_slice *slice)
{
	slice->name = trace_name_text(run, from->span.name);
	slice->category = "span";
	slice->is_common = true;
	note_number(slice, "cpu_s", (double)from->span.cpu_s);
	note_number(slice, "memory_bytes", (double)from->span.memory_bytes);
}

static void write_unit(struct trace *trace, struct trace_run *run, struct trace_run_lane *lane,
	const struct lane_slice *unit, size_t count, const struct finished_batch *written)
{
	const struct trace_track *track = track_of(trace, run, lane, unit->track);
	struct {
		unsigned level;
		int64_t end_ns;
	} open[LANE_LEVELS];
	unsigned depth = 0;
	for (size_t i = 0; i < count; i++) {
		struct trace_slice slice;
		struct texts texts;
		slice.track = track;
		slice.begin_ns = unit[i].begin_ns;
		slice.end_ns = unit[i].end_ns;
		slice.is_common = slice.is_batch = slice.is_flow_target = false;
		slice.note_count = slice.flow_count = 0;
		while (depth && open[depth - 1].level >= unit[i].level)
			trace_close(trace, track, open[--depth].end_ns);
		if (unit[i].is_batch)
			fill_batch(trace, run, &unit[i], written, &slice, &texts);
		else
			fill_span(run, &unit[i], &slice);
		note_text(&slice, "end", unit[i].is_unfinished ? "not known: it ran at least until here" : NULL);
		if (!trace_begin(trace, &slice))
			continue;
		open[depth].level = unit[i].level;
		open[depth++].end_ns = slice.end_ns;
	}
	while (depth)
		trace_close(trace, track, open[--depth].end_ns);
}

/* -- releasing units -- */

static void release_lane(struct trace *trace, struct trace_run *run, struct trace_run_lane *lane,
	const struct finished_batch *written, bool is_all)
{
	const struct lane_slice *unit;
	for (size_t count; (count = trace_lane_unit(&lane->lane, &unit));) {
		bool is_written = written && unit->is_batch && unit->batch.number == written->batch->number;
		if (unit->is_batch && !is_all && (!written || unit->batch.number > written->batch->number))
			return;
		write_unit(trace, run, lane, unit, count, is_written ? written : NULL);
		trace_lane_drop_unit(&lane->lane);
	}
}

void trace_release(struct trace *trace, struct trace_run *run, const struct finished_batch *written)
{
	for (size_t i = 0; i < run->lane_count; i++)
		release_lane(trace, run, run->lanes[i], written, !written);
}

void trace_release_ready(struct trace *trace, struct trace_run *run)
{
	enum { THROTTLED_MAX = 1 << 20 };
	size_t throttled = 0;
	for (size_t i = 0; i < run->lane_count; i++) {
		release_lane(trace, run, run->lanes[i], NULL, false);
		throttled += run->lanes[i]->lane.ready.count;
		trace->failed |= run->lanes[i]->lane.failed;
	}
	trace->throttle_bits += throttled;
	/* Without a limit memory would grow; the batch then lacks its flag. */
	if (trace->throttle_bits > THROTTLED_MAX && throttled)
		trace_release(trace, run, NULL);
}

/* -- finished batches and epochs -- */

static struct trace_run *run_of(struct trace *trace, const struct run *run)
{
	struct trace_run *current = run->id < 256 ? trace->current[run->id] : NULL;
	return current && strncmp(current->uuid, run->uuid, sizeof current->uuid) == 0 ? current : NULL;
}

static void write_flag(struct trace *trace, struct trace_run *run, const struct finished_batch *written)
{
	struct explanation room;
	const struct explanation *why = finished_explain(written, trace->scene, &room);
	char brief[CAUSE_BRIEF_SIZE];
	const struct batch *batch = written->batch;
	if (!why || !run->process)
		return;
	if (!run->flags)
		run->flags = trace_track(trace, TRACE_TRACK, TRACE_NUMBER, run->process, "flagged batches", 2);
	struct trace_slice slice = { .track = run->flags,
		.begin_ns = batch->begin_ns,
		.end_ns = batch->begin_ns,
		.category = "flag",
		.name = why->cause_count ? cause_brief(written->run, &why->causes[0], brief) : "slow, cause unknown" };
	note_count(&slice, "number", batch->number);
	note_number(&slice, "step_s", batch->step_s);
	note_number(&slice, "usual_s", why->baseline_s);
	if (why->cause_count) {
		note_text(&slice, "cause", why->causes[0].what);
		note_number(&slice, "share_ratio", why->causes[0].share_ratio);
		note_text(&slice, "next", why->causes[0].next);
	}
	note_true(&slice, "by_hand", batch->is_by_hand);
	trace_instant(trace, &slice);
}

/* Series of modes other than training have the mode in their name. */
static void write_rates(struct trace *trace, struct trace_run *run, const struct finished_batch *written)
{
	const struct batch *batch = written->batch;
	uint32_t mode = written->track->mode;
	char name[160];
	if (mode >= run->name_count || !run->process)
		return;
	const char *before = mode ? scope_mode_name(written->run, mode) : "", *gap = mode ? " " : "";
	snprintf(name, sizeof name, "%s%sloss", before, gap);
	trace_counter(trace, &run->names[mode].loss, run->process, name, TRACE_NUMBER, batch->end_ns, batch->loss);
	snprintf(name, sizeof name, "%s%ssamples/s", before, gap);
	trace_counter(trace, &run->names[mode].rate, run->process, name, TRACE_NUMBER, batch->end_ns,
		batch->step_s > 0 ? batch->samples / batch->step_s : (double)NAN);
}

void trace_finished(struct trace *trace, const struct finished_batch *written)
{
	struct trace_run *run = run_of(trace, written->run);
	if (!run)
		return;
	trace_release(trace, run, written);
	if (written->batch->is_flagged)
		write_flag(trace, run, written);
	write_rates(trace, run, written);
}

void trace_epoch(struct trace *trace, const struct run *of, const struct epoch *epoch, int64_t end_ns)
{
	struct trace_run *run = run_of(trace, of);
	char name[160];
	if (!run || !run->process)
		return;
	char index[RUN_EPOCH_NAME_SIZE];
	snprintf(index, sizeof index, epoch->index == EPOCH_UNKNOWN ? "–" : "%u", epoch->index);
	snprintf(name, sizeof name, "%s%sepoch %s", epoch->mode ? scope_mode_name(of, epoch->mode) : "",
		epoch->mode ? " " : "", index);
	struct trace_slice slice = { .begin_ns = epoch->begin_ns,
		.end_ns = end_ns > epoch->begin_ns ? end_ns : epoch->begin_ns,
		.category = "epoch",
		.name = name };
	slice.track = trace_track_beside(trace, &run->epochs, run->process, "epochs", 0, slice.begin_ns, slice.end_ns);
	note_count(&slice, "ordinal", epoch->ordinal);
	note_count(&slice, "batches", epoch->batches);
	note_number(&slice, "batch_mean_s", epoch->mean_s);
	note_text(&slice, "end", epoch->end_ns ? NULL : "not known: it ran at least until here");
	trace_slice(trace, &slice);
}
