#include "src/model/run/steps/lanes.h"

#include <string.h>

#include "src/model/run/figures/bins.h"
#include "src/model/run/figures/epochs.h"
#include "src/model/run/figures/figures.h"
#include "src/model/run/figures/phases.h"
#include "src/model/run/figures/totals.h"
#include "src/model/run/run_private.h"
#include "src/model/run/steps/device_pace.h"
#include "src/model/run/steps/flagged.h"
#include "src/model/run/steps/judge.h"
#include "src/model/run/steps/run_requests.h"
#include "src/model/run/steps/traced_steps.h"
#include "src/model/run/steps/tracks.h"

/* False: `to_ns` is before `from_ns`; untrusted times may be in any order. */
static bool elapsed(int64_t from_ns, int64_t to_ns, double *seconds)
{
	if (to_ns < from_ns)
		return false;
	*seconds = (double)((uint64_t)to_ns - (uint64_t)from_ns) * 1e-9;
	return true;
}

static double overlap(int64_t from_ns, int64_t to_ns, int64_t window_from_ns, int64_t window_to_ns)
{
	double seconds = 0;
	elapsed(from_ns > window_from_ns ? from_ns : window_from_ns, to_ns < window_to_ns ? to_ns : window_to_ns, &seconds);
	return seconds;
}

/* Spans longer than their batch are inconsistent: the step is treated as one with losses. */
static bool is_more_than(double covered_s, double there_s) { return covered_s > there_s + 1e-9 + 1e-6 * there_s; }

static struct batch *lane_batch(struct run *run, const struct lane *lane)
{
	return lane->has_step ? track_slot(&run->tracks[lane->track], lane->ordinal) : NULL;
}

static bool count(struct run *run, enum total_kind kind, uint32_t mode, const struct record *record, double seconds)
{
	struct total_key key = { .kind = kind, .lane = record->lane, .mode = mode };
	struct total *total = totals_find(&run->priv->totals, &key, true);
	return totals_add(&run->priv->totals, total, record->sequence, record->time_ns, seconds, seconds, NAN, NAN);
}

/* The number of the next batch in the run, all modes. It is exact near the begin of the run, where it is needed. */
static uint64_t number_in_run(const struct run *run)
{
	uint64_t number = 0;
	for (unsigned i = 0; i < run->track_count; i++)
		number += run->tracks[i].end;
	return number;
}

static void note_candidate(struct run *run, struct track *track, struct batch *batch)
{
	struct track_private *priv = track->priv;
	uint64_t number = number_in_run(run) - 1;
	if (number >= run->priv->options.warmup_max)
		return;
	if (priv->candidates_end == 0) {
		priv->candidates_first = batch->ordinal;
		priv->has_run_first = number == 0;
	}
	priv->candidates_end = batch->ordinal + 1;
	batch->is_warmup = number == 0;
}

/* After the region's row, the counted batches are those before this one; after a loss these are more than were seen. */
static void renumber(struct run *run, struct track *track, const struct record *record)
{
	struct total_key key = { TOTAL_BATCH, record->lane, track->mode, 0, 0 };
	const struct total *total = totals_find(&run->priv->totals, &key, false);
	if (track->priv->counted > track->end && (!total || record->sequence >= total->upto))
		track_skip_to(track, track->priv->counted);
}

/* The run's first batch begins: spans seen in the lane before it were in no batch. */
static void settle_before(struct run *run, uint16_t lane)
{
	struct totals *totals = &run->priv->totals;
	for (size_t i = 0; i < totals->count; i++) {
		struct total *total = &totals->list[i];
		if (total->key.kind != TOTAL_SPAN || total->key.lane != lane)
			continue;
		total->seen_s += total->before_s;
		total->before_s = 0;
	}
}

static void start_batch(
	struct run *run, struct lane *lane, const struct record *record, int64_t begin_ns, bool is_partial)
{
	uint16_t id = lane->id;
	uint64_t next_sequence = lane->next_sequence;
	struct track *track = run_track(run, run->priv->mode, true);
	lane->has_step = track != NULL;
	if (!track)
		return;
	run->priv->step_lane = id;
	if (!lane->has_run_batches && record->batch.number == 0)
		settle_before(run, id);
	renumber(run, track, record);
	*lane = (struct lane){ .has_step = true,
		.has_run_batches = true,
		.is_partial = is_partial,
		.id = id,
		.track = (unsigned)(track - run->tracks),
		.ordinal = track->end,
		.begin_ns = begin_ns,
		.covered_until_ns = begin_ns,
		.next_sequence = next_sequence };
	struct batch *batch = track_append(track, lane->ordinal);
	if (!batch)
		return;
	batch->index = record->batch.index;
	batch->number = record->batch.number;
	batch->begin_ns = begin_ns;
	run_assign_epoch(run, track, batch);
	note_candidate(run, track, batch);
	run_note_number(run, lane->track, lane->ordinal, batch->number);
}

static void move_batch(struct run *run, struct lane *lane, struct track *to, const struct record *record)
{
	unsigned from = lane->track;
	struct batch *batch = lane_batch(run, lane), moved;
	bool is_retained = batch != NULL, is_flagged = is_retained && batch->is_flagged;
	if (is_flagged)
		run_flag(run, from, lane->ordinal, false);
	if (is_retained)
		moved = *batch;
	track_take_back(&run->tracks[from], lane->ordinal);
	run->tracks[from].priv->covered_elsewhere_s -= lane->covered_in_s;
	lane->has_step = to != NULL;
	if (!to)
		return;
	to->priv->covered_elsewhere_s += lane->covered_in_s;
	renumber(run, to, record);
	lane->track = (unsigned)(to - run->tracks);
	lane->ordinal = to->end;
	batch = track_append(to, lane->ordinal);
	if (!batch || !is_retained)
		return;
	*batch = moved;
	batch->ordinal = lane->ordinal;
	batch->is_warmup = false;
	run_assign_epoch(run, to, batch);
	note_candidate(run, to, batch);
	run_note_number(run, lane->track, lane->ordinal, batch->number);
	if (is_flagged)
		run_flag(run, lane->track, lane->ordinal, true);
}

void lane_follow_mode(struct run *run, struct lane *lane, const struct record *record)
{
	uint32_t mode = run->priv->mode;
	if (lane->has_step && !lane->is_ended && run->tracks[lane->track].mode != mode)
		move_batch(run, lane, run_track(run, mode, true), record);
}

static void note_behind(struct batch *batch, const struct batch *between)
{
	for (unsigned i = 0; i < between->phase_count; i++) {
		const struct phase_time *behind = &between->phases[i],
								*whole = phase_find(batch->phases, batch->phase_count, behind->name, behind->parent);
		if (whole && 2 * behind->seconds > whole->seconds)
			batch->phases_behind |= 1u << (whole - batch->phases);
	}
}

/* Phases after the batch's end become part of its step, because a batch follows. */
static void take_in_between(struct run *run, struct lane *lane, struct batch *batch, double between_s)
{
	uint32_t mode = run->tracks[lane->track].mode;
	for (unsigned i = 0; i < lane->between.phase_count; i++) {
		const struct phase_time *phase = &lane->between.phases[i];
		struct total_key key = { TOTAL_SPAN, lane->id, mode, phase->name, phase->parent };
		struct total *total = phase->parent == NAME_NONE ? totals_find(&run->priv->totals, &key, false) : NULL;
		if (total)
			total->between_s += (double)phase->seconds;
		bool has_row = batch_add_phase(batch, phase->name, phase->parent, (double)phase->seconds, (double)phase->cpu_s,
			(double)phase->memory_bytes);
		if (!has_row && phase->parent == NAME_NONE)
			lane->covered_between_s -= (double)phase->seconds;
	}
	batch_add_between(batch, run->priv->between, between_s - lane->covered_between_s);
	note_behind(batch, &lane->between);
}

/* Does the batch's step last until this event, or only until the batch's end? */
static bool has_next(const struct run *run, const struct lane *lane, const struct record *next)
{
	int64_t boundary_ns = run->priv->boundary_ns;
	return next->kind == RECORD_BATCH_BEGIN && !(boundary_ns > lane->begin_ns && boundary_ns <= next->time_ns);
}

void lane_close_step(struct run *run, struct lane *lane, const struct record *record)
{
	/* A batch that is running when its epoch ends is closed by the event after its end. */
	if (!lane->has_step || (!lane->is_ended && record->kind != RECORD_BATCH_BEGIN))
		return;
	struct track *track = &run->tracks[lane->track];
	struct batch *batch = lane_batch(run, lane);
	bool is_followed = has_next(run, lane, record);
	double step_s, batch_s;
	lane->has_step = false;
	if (!lane->is_ended || lane->is_lost_after || !elapsed(lane->begin_ns, lane->end_ns, &batch_s) ||
		!elapsed(lane->begin_ns, is_followed ? record->time_ns : lane->end_ns, &step_s) || step_s < batch_s)
		return;
	bool is_whole =
		batch && !lane->is_partial && !(is_followed && is_more_than(lane->covered_between_s, step_s - batch_s));
	if (is_whole) {
		batch->step_s = step_s;
		device_pace_take(run, track, batch);
	}
	if (count(run, TOTAL_STEP, track->mode, record, step_s))
		run_add_bin(run, run->priv->step_count++, lane->begin_ns, is_whole ? batch_pace_s(batch) : step_s);
	if (is_whole && is_followed)
		take_in_between(run, lane, batch, step_s - batch_s);
	if (is_whole)
		track_finish_step(run, track, batch);
}

void lane_begin_epoch(struct run *run, struct lane *lane, const struct record *record)
{
	uint32_t index = record->epoch.index + run->priv->epochs_ahead;
	lane_close_step(run, lane, record);
	bool has_batch = lane->has_step && !run->is_counted && !run_epoch_at(run, lane->begin_ns);
	run_begin_epoch(run, index, has_batch ? lane->begin_ns : record->time_ns);
	struct batch *batch = has_batch ? lane_batch(run, lane) : NULL;
	if (batch)
		run_assign_epoch(run, &run->tracks[lane->track], batch);
}

void lane_begin_batch(struct run *run, struct lane *lane, const struct record *record)
{
	/* Batches may have moved to this thread: the last step of the other thread's lane ends here too. */
	struct run_private *priv = run->priv;
	if (priv->step_lane != lane->id && priv->step_lane < priv->lane_count) {
		struct lane *before = &priv->lanes[priv->step_lane];
		if (before->is_ended && before->end_ns <= record->time_ns)
			lane_close_step(run, before, record);
	}
	lane_close_step(run, lane, record);
	start_batch(run, lane, record, record->time_ns, false);
}

static void count_pass(struct run *run, unsigned index)
{
	struct track *track = &run->tracks[index];
	if (index != run->newest_track) {
		track->pass_before = track->priv->is_pass_whole ? track->pass_count : 0;
		track->priv->is_pass_whole = true;
		track->pass_count = 0;
	}
	run->newest_track = index;
	track->pass_count++;
}

/* The resident set at the batch's end; NAN if it was read more than two seconds earlier or later. */
static double resident_at(const struct run *run, int64_t time_ns)
{
	double distance_s = fabs((double)time_ns - (double)run->priv->resident_ns) * 1e-9;
	return distance_s <= 2 ? run->priv->resident_bytes : NAN;
}

static bool is_open_since(const struct lane *lane, int64_t begin_ns)
{
	return lane->has_step && !lane->is_ended && (begin_ns == lane->begin_ns || begin_ns <= 0);
}

/* The lane whose batch this event ends: another thread may have begun it. If its begin was not seen, the event has the
 * time. */
static struct lane *find_lane_to_end(struct run *run, struct lane *lane, const struct record *record)
{
	struct run_private *priv = run->priv;
	int64_t begin_ns = record->batch.begin_ns;
	if (is_open_since(lane, begin_ns))
		return lane;
	if (priv->step_lane < priv->lane_count && is_open_since(&priv->lanes[priv->step_lane], begin_ns))
		return &priv->lanes[priv->step_lane];
	if (begin_ns <= 0 || begin_ns > record->time_ns)
		return NULL;
	start_batch(run, lane, record, begin_ns, true);
	return lane->has_step ? lane : NULL;
}

void lane_end_batch(struct run *run, struct lane *lane, const struct record *record)
{
	double batch_s;
	lane = find_lane_to_end(run, lane, record);
	if (lane)
		lane_follow_mode(run, lane, record);
	if (!lane || !lane->has_step || !elapsed(lane->begin_ns, record->time_ns, &batch_s))
		return;
	struct track *track = &run->tracks[lane->track];
	lane->is_ended = true;
	lane->end_ns = record->time_ns;
	if (count(run, TOTAL_BATCH, track->mode, record, batch_s)) {
		track->priv->counted++;
		struct epoch *epoch = run_epoch_at(run, lane->begin_ns);
		if (epoch && epoch->mode == track->mode && record->batch.number >= run->priv->epochs_upto)
			epoch_add_batch(epoch, batch_s);
	}
	run_note_batch(run, lane, track->mode, record);
	track->priv->is_changed = true;
	count_pass(run, lane->track);
	run_note_loss(track, record->batch.number, record->batch.loss);
	struct batch *batch = lane_batch(run, lane);
	if (!batch)
		return;
	batch->end_ns = record->time_ns;
	batch->batch_s = batch_s > 0 ? batch_s : (double)NAN;
	batch->loss = isnan(record->batch.loss) ? batch->loss : record->batch.loss;
	track_set_kind(run, track, batch, run_kind_of(run, batch, record->batch.kind));
	batch->samples = run->state.samples_per_batch ? (double)run->state.samples_per_batch : NAN;
	batch->resident_bytes = resident_at(run, record->time_ns);
	lane->is_partial = lane->is_partial || isnan(batch->batch_s) || is_more_than(lane->covered_in_s, batch_s);
	if (!lane->is_partial)
		batch_set_unattributed(batch, batch_s - lane->covered_in_s);
}

void lane_add_evidence(struct run *run, struct lane *lane, const struct record *record)
{
	struct batch *batch = lane_batch(run, lane);
	if (!batch || !lane->is_ended || !record->evidence)
		return;
	batch->has_evidence = true;
	batch->evidence = *record->evidence;
	if (isfinite(record->evidence->samples) && record->evidence->samples > 0)
		batch->samples = record->evidence->samples;
}

static void add_outermost(
	struct lane *lane, struct batch *batch, struct total *total, const struct record *record, int64_t from_ns)
{
	int64_t to_ns = record->time_ns;
	if (from_ns < lane->covered_until_ns)
		from_ns = lane->covered_until_ns;
	double in_s = overlap(from_ns, to_ns, lane->begin_ns, lane->is_ended ? lane->end_ns : INT64_MAX);
	double between_s = lane->is_ended ? overlap(from_ns, to_ns, lane->end_ns, INT64_MAX) : 0;
	double cpu_s = (double)record->span.cpu_s, memory_bytes = (double)record->span.memory_bytes;
	if (to_ns > lane->covered_until_ns)
		lane->covered_until_ns = to_ns;
	if (total)
		total->in_batch_s += in_s;
	if (in_s > 0 || !lane->is_ended) {
		if (batch && batch_add_phase(batch, record->span.name, NAME_NONE, in_s, cpu_s, memory_bytes))
			lane->covered_in_s += in_s;
		cpu_s = memory_bytes = NAN;
	}
	if (lane->is_ended && batch_add_phase(&lane->between, record->span.name, NAME_NONE, between_s, cpu_s, memory_bytes))
		lane->covered_between_s += between_s;
	if (batch && lane->is_ended && in_s > 0 && !lane->is_partial)
		batch_set_unattributed(batch, batch->batch_s - lane->covered_in_s);
}

static void add_to_step(struct run *run, struct lane *lane, struct total *total, const struct record *record)
{
	int64_t from_ns;
	if (__builtin_sub_overflow(record->time_ns, record->span.duration_ns, &from_ns) || from_ns < lane->begin_ns)
		from_ns = lane->begin_ns;
	struct batch *batch = lane_batch(run, lane);
	double seconds;
	if (!elapsed(from_ns, record->time_ns, &seconds))
		return;
	if (record->span.parent == NAME_NONE) {
		add_outermost(lane, batch, total, record, from_ns);
		return;
	}
	if (total)
		total->in_batch_s += seconds;
	struct batch *into = lane->is_ended && from_ns >= lane->end_ns ? &lane->between : batch;
	if (into)
		batch_add_phase(into, record->span.name, record->span.parent, seconds, (double)record->span.cpu_s,
			(double)record->span.memory_bytes);
}

void lane_add_span(struct run *run, struct lane *lane, const struct record *published)
{
	if (published->span.duration_ns < 0)
		return;
	struct record copy = *published, *record = &copy;
	record->span.name = name_of_thing(published->span.name);
	record->span.parent = name_or_none(published->span.parent);
	struct total_key key = { TOTAL_SPAN, record->lane, run->priv->mode, record->span.name, record->span.parent };
	double seconds = (double)record->span.duration_ns * 1e-9, self_s = (double)record->span.self_s;
	struct total *total = key.mode == MODE_UNKNOWN ? NULL : totals_find(&run->priv->totals, &key, true);
	if (!isfinite(self_s) || self_s < 0)
		self_s = seconds;
	totals_add(&run->priv->totals, total, record->sequence, record->time_ns, seconds, self_s,
		(double)record->span.cpu_s, (double)record->span.memory_bytes);
	if (total) {
		total->depth = record->span.depth < total->depth ? record->span.depth : total->depth;
		/* A span before the first batch seen may have been in a batch, unless that batch is the run's first. */
		*(lane->has_run_batches ? &total->seen_s : &total->before_s) += seconds;
	}
	run_note_span(run, record);
	if (lane->has_step)
		add_to_step(run, lane, total, record);
}

void lane_lose(struct lane *lane)
{
	if (lane->is_ended)
		lane->is_lost_after = true;
	else
		lane->is_partial = true;
}
