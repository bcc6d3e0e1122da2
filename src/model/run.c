#include "src/model/run.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/run_private.h"

enum { COUNT_MOST_BITS = 62 };

/* -- reading -- */

const char *run_name(const struct run *run, uint32_t id)
{
	switch (id) {
	case NAME_NONE:
		return "train";
	case NAME_UNATTRIBUTED:
		return "unattributed";
	case NAME_BETWEEN: {
		const char *text = run_meta(run, "between");
		return text && *text ? text : "between";
	}
	default: {
		const char *text = run->private ? names_text(&run->private->names, id) : NULL;
		return text ? text : "(unnamed)";
	}
	}
}

const struct track *run_main(const struct run *run)
{
	return &run->tracks[run->main_track];
}

int64_t run_warmup_end(const struct run *run)
{
	int64_t end_ns = 0;
	for (unsigned i = 0; i < run->track_count; i++) {
		const struct track_private *private = run->tracks[i].private;
		if (private->has_run_first && private->warmup_end_ns == 0)
			return INT64_MAX;
		if (private->warmup_end_ns > end_ns)
			end_ns = private->warmup_end_ns;
	}
	return end_ns;
}

/* -- modes -- */

uint32_t run_mode_of(const struct run *run, uint32_t id)
{
	if (id == run->private->train)
		return NAME_NONE;
	return id > NAMES_MOST ? MODE_UNKNOWN : id;
}

static uint32_t mode_at_time(const struct run_private *private, int64_t time_ns)
{
	for (size_t i = private->mode_change_count; i-- > 0;)
		if (private->mode_changes[i].time_ns <= time_ns)
			return private->mode_changes[i].mode;
	return private->first_mode;
}

uint32_t run_mode_at(const struct run *run, uint16_t lane, int64_t time_ns)
{
	const struct run_private *private = run->private;
	/* In the lane that publishes the modes their order is exact; from another lane they are seen by time. */
	if (private->has_mode_lane && private->mode_lane == lane && lane < private->lane_count)
		return private->lanes[lane].mode;
	return mode_at_time(private, time_ns);
}

void run_foresee_mode(struct run *run, const struct record *record)
{
	struct run_private *private = run->private;
	if (private->mode_change_count == MODE_CHANGES_MOST) {
		private->first_mode = private->mode_changes[0].mode;
		memmove(&private->mode_changes[0], &private->mode_changes[1], (MODE_CHANGES_MOST - 1) * sizeof private->mode_changes[0]);
		private->mode_change_count--;
	}
	private->mode_changes[private->mode_change_count++] = (struct mode_change){ record->time_ns, run_mode_of(run, record->mode.name) };
}

/* The mode before the first change that the ring still holds: the only other one that has batches. */
static uint32_t mode_before(const struct run *run, uint32_t after)
{
	const struct totals *totals = &run->private->totals;
	uint32_t before = NAME_NONE;
	bool has_other = false;
	for (size_t i = 0; i < totals->count; i++) {
		const struct total_key *key = &totals->list[i].key;
		if (key->kind != TOTAL_BATCH || key->mode == after || (has_other && key->mode == before))
			continue;
		if (has_other)
			return MODE_UNKNOWN;
		before = key->mode;
		has_other = true;
	}
	return before;
}

static void set_mode(struct run *run, struct lane *lane, const struct record *record)
{
	struct run_private *private = run->private;
	lane->mode = run_mode_of(run, record->mode.name);
	private->is_lost_in_set = false;
	private->has_mode_lane = true;
	private->mode_lane = lane->id;
	struct epoch *epoch = run_epoch_at(run, record->time_ns);
	if (epoch && epoch == &run->epochs[run->epoch_count - 1] && epoch->batches == 0 && !private->epoch_has_batches)
		epoch->mode = lane->mode;
}

/* -- lanes -- */

static struct lane *find_lane(struct run *run, uint16_t id)
{
	struct run_private *private = run->private;
	if (id < private->lane_count)
		return &private->lanes[id];
	if (id >= LANES_MOST)
		return NULL;
	struct lane *lanes = realloc(private->lanes, ((size_t)id + 1) * sizeof *lanes);
	if (!lanes)
		return NULL;
	private->lanes = lanes;
	for (; private->lane_count <= id; private->lane_count++) {
		lanes[private->lane_count] = (struct lane){ .id = (uint16_t)private->lane_count, .mode = private->first_mode };
	}
	return &lanes[id];
}

/* -- what was counted before pmtop came -- */

static uint64_t bounded(uint64_t count)
{
	return count < UINT64_C(1) << COUNT_MOST_BITS ? count : UINT64_C(1) << COUNT_MOST_BITS;
}

static void replace_total(struct run *run, const struct record *record)
{
	const struct total_row *row = record->total;
	struct run_private *private = run->private;
	if (!row || (unsigned)row->kind > TOTAL_SPAN)
		return;
	struct total_key key = { row->kind, record->lane, run_mode_of(run, row->mode), 0, 0 };
	if (key.kind == TOTAL_SPAN) {
		key.name = name_of_thing(row->name);
		key.parent = name_or_none(row->parent);
	}
	if (key.mode == MODE_UNKNOWN)
		return;
	const struct total *before = totals_find(&private->totals, &key, false);
	uint64_t counted = before ? before->count : 0;
	totals_replace(&private->totals, &key, row);
	const struct total *after = totals_find(&private->totals, &key, false);
	if (!after)
		return;
	if (key.kind == TOTAL_STEP)
		private->step_count = bounded(private->step_count - counted + bounded(after->count));
	if (key.kind == TOTAL_BATCH)
		private->is_alignment_due = true;
	struct track *track = key.kind == TOTAL_SPAN ? NULL : run_track(run, key.mode, true);
	if (track)
		track->private->is_changed = true;
}

/* The batches of the ring that follow in this set are among the counted ones: the first of them gets the number that it had. */
static void align_ordinals(struct run *run, const struct record *rest, size_t rest_count)
{
	struct run_private *private = run->private;
	uint64_t counted[RUN_TRACKS_MAX] = { 0 };
	private->is_alignment_due = false;
	private->is_aligned_in_set = true;
	for (size_t i = 0; i < private->totals.count; i++) {
		const struct total *total = &private->totals.list[i];
		struct track *track = total->key.kind == TOTAL_BATCH ? run_track(run, total->key.mode, false) : NULL;
		if (track)
			counted[track - run->tracks] = bounded(counted[track - run->tracks] + bounded(total->count));
	}
	for (size_t i = 0; i < rest_count; i++) {
		if (rest[i].run != run->id || rest[i].kind != RECORD_BATCH_END)
			continue;
		struct total_key key = { TOTAL_BATCH, rest[i].lane, mode_at_time(private, rest[i].batch.begin_ns), 0, 0 };
		const struct total *total = totals_find(&private->totals, &key, false);
		struct track *track = run_track(run, key.mode, false);
		if (total && track && rest[i].sequence < total->upto && counted[track - run->tracks] > 0)
			counted[track - run->tracks]--;
	}
	for (unsigned i = 0; i < run->track_count; i++) {
		struct track *track = &run->tracks[i];
		if (counted[i] > track->end)
			track_skip_to(track, counted[i]);
	}
}

void run_settle_past(struct run *run, const struct record *rest, size_t rest_count)
{
	struct run_private *private = run->private;
	if (private->is_opening) {
		private->is_opening = false;
		private->step_mode = run_mode_of(run, run->state.mode);
		private->first_mode = private->mode_change_count ? mode_before(run, private->mode_changes[0].mode) : run_mode_of(run, run->state.mode);
		for (size_t i = 0; i < private->lane_count; i++)
			private->lanes[i].mode = private->first_mode;
	}
	if (private->is_alignment_due && !private->is_aligned_in_set)
		align_ordinals(run, rest, rest_count);
}

/* -- records -- */

static void apply_event(struct run *run, const struct record *record)
{
	struct lane *lane = find_lane(run, record->lane);
	if (!lane)
		return;
	if (lane->next_sequence <= record->sequence)
		lane->next_sequence = record->sequence < UINT64_MAX ? record->sequence + 1 : record->sequence;
	switch ((enum record_kind)record->kind) {
	case RECORD_EPOCH_BEGIN:
		lane_close_step(run, lane, record);
		run_begin_epoch(run, record->epoch.index, record->time_ns);
		break;
	case RECORD_EPOCH_END:
		lane_close_step(run, lane, record);
		run_end_epoch(run, record->time_ns);
		break;
	case RECORD_BATCH_BEGIN:
		lane_begin_batch(run, lane, record);
		run->private->epoch_has_batches = true;
		break;
	case RECORD_BATCH_END:
		lane_end_batch(run, lane, record);
		break;
	case RECORD_EVIDENCE:
		lane_add_evidence(run, lane, record);
		break;
	case RECORD_SPAN:
		lane_add_span(run, lane, record);
		break;
	case RECORD_MODE:
		set_mode(run, lane, record);
		break;
	default:
		break;
	}
}

static void lose(struct run *run, const struct record *record)
{
	run->lost_events += record->lost.count;
	run->private->is_lost_in_set = true;
	if (record->lane < run->private->lane_count)
		lane_lose(&run->private->lanes[record->lane]);
}

/* The writer that says that the run is ended has counted the last step; one that was killed has not. */
static void close_run(struct run *run, const struct record *record)
{
	struct run_private *private = run->private;
	for (size_t i = 0; run->state.is_ended && i < private->lane_count; i++) {
		struct lane *lane = &private->lanes[i];
		struct record last = { .kind = RECORD_RUN_CLOSED, .lane = lane->id, .time_ns = record->time_ns };
		last.sequence = private->was_ended ? 0 : lane->next_sequence;
		lane_close_step(run, lane, &last);
	}
	put_text(run->ended, sizeof run->ended, record->text && *record->text ? record->text : "ended");
	run->is_live = false;
	private->closed_ns = bounded_time(record->time_ns);
	run->open_span_count = 0;
}

static void set_state(struct run *run, const struct run_state *state)
{
	if (!state)
		return;
	struct run_private *private = run->private;
	run->state = *state;
	run->state.mode = run_mode_of(run, state->mode);
	if (!private->has_state)
		private->was_ended = state->is_ended;
	private->has_state = true;
	if (isnan(run->loss))
		run->loss = state->loss;
}

void run_apply(struct run *run, const struct record *record, size_t rest_count)
{
	run->private->is_changed = true;
	switch ((enum record_kind)record->kind) {
	case RECORD_NAME:      /* foreseen */
		break;
	case RECORD_META:
		run_set_meta(run, record->meta.key, record->meta.value);
		break;
	case RECORD_STATE:
		set_state(run, record->state);
		break;
	case RECORD_TOTAL:
		replace_total(run, record);
		break;
	case RECORD_HISTORY:
		run_replace_bins(run, record->history.rows, record->history.count);
		break;
	case RECORD_EPOCHS:
		run_replace_epochs(run, record->epochs.rows, record->epochs.count, record->epochs.dropped);
		break;
	case RECORD_COUNTER:
		run_set_counter(run, record->counter.name, record->counter.total);
		break;
	case RECORD_GAUGE:
		run_set_gauge(run, record->gauge.name, record->time_ns, record->gauge.value);
		break;
	case RECORD_MARK:
		run_add_mark(run, record->time_ns, record->text);
		break;
	case RECORD_OPEN_SPAN:
		run_set_open_span(run, record);
		break;
	case RECORD_OPEN_SPANS_NONE:
		run_clear_open_spans(run, record->lane);
		break;
	case RECORD_LOST:
		lose(run, record);
		break;
	case RECORD_BEFORE_ATTACH:
		run->before_attach_events = record->lost.count;
		break;
	case RECORD_REFUSED:
		run->refused_events = record->lost.count;
		break;
	case RECORD_RUN_CLOSED:
		run_settle_past(run, record, rest_count);
		close_run(run, record);
		break;
	default:
		run_settle_past(run, record, rest_count);
		apply_event(run, record);
		break;
	}
}
