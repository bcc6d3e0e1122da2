#include "src/model/run/records.h"

#include <stdlib.h>

#include "src/model/run/figures/bins.h"
#include "src/model/run/figures/epochs.h"
#include "src/model/run/figures/figures.h"
#include "src/model/run/figures/totals.h"
#include "src/model/run/published.h"
#include "src/model/run/run_private.h"
#include "src/model/run/steps/lanes.h"
#include "src/model/run/steps/tracks.h"

enum { COUNT_MAX_BITS = 62 };

/* -- modes -- */

static void set_mode(struct run *run, const struct record *record)
{
	struct run_private *priv = run->priv;
	priv->mode = run_mode_of(run, record->mode.name);
	struct epoch *epoch = run_epoch_at(run, record->time_ns);
	if (epoch && epoch == &run->epochs[run->epoch_count - 1] && epoch->batches == 0 && !priv->epoch_has_batches)
		epoch->mode = priv->mode;
	if (priv->step_lane < priv->lane_count)
		lane_follow_mode(run, &priv->lanes[priv->step_lane], record);
}

/* -- lanes -- */

static struct lane *find_lane(struct run *run, uint16_t id)
{
	struct run_private *priv = run->priv;
	if (id < priv->lane_count)
		return &priv->lanes[id];
	if (id >= LANES_MAX)
		return NULL;
	struct lane *lanes = realloc(priv->lanes, ((size_t)id + 1) * sizeof *lanes);
	if (!lanes)
		return NULL;
	priv->lanes = lanes;
	for (; priv->lane_count <= id; priv->lane_count++)
		lanes[priv->lane_count] = (struct lane){ .id = (uint16_t)priv->lane_count };
	return &lanes[id];
}

/* -- what was counted before pmtop came -- */

static uint64_t bounded(uint64_t count)
{
	return count < UINT64_C(1) << COUNT_MAX_BITS ? count : UINT64_C(1) << COUNT_MAX_BITS;
}

static void replace_total(struct run *run, const struct record *record)
{
	const struct total_row *row = record->total;
	struct run_private *priv = run->priv;
	if (!row || (unsigned)row->kind > TOTAL_SPAN)
		return;
	struct total_key key = { row->kind, record->lane, run_mode_of(run, row->mode), 0, 0 };
	if (key.kind == TOTAL_SPAN) {
		key.name = name_of_thing(row->name);
		key.parent = name_or_none(row->parent);
	}
	if (key.mode == MODE_UNKNOWN)
		return;
	const struct total *before = totals_find(&priv->totals, &key, false);
	uint64_t counted = before ? bounded(before->count) : 0;
	totals_replace(&priv->totals, &key, row);
	const struct total *after = totals_find(&priv->totals, &key, false);
	if (!after)
		return;
	if (key.kind == TOTAL_STEP)
		priv->step_count = bounded(priv->step_count - counted + bounded(after->count));
	struct track *track = key.kind == TOTAL_SPAN ? NULL : run_track(run, key.mode, true);
	if (!track)
		return;
	track->priv->is_changed = true;
	if (key.kind == TOTAL_BATCH)
		track->priv->counted = bounded(track->priv->counted - counted + bounded(after->count));
}

/* pmtop comes: the batches whose events follow (`rest`) are among the counted ones, and get the numbers that they
 * had. */
void run_settle_past(struct run *run, const struct record *rest, size_t rest_count)
{
	struct run_private *priv = run->priv;
	if (!priv->is_opening)
		return;
	priv->is_opening = false;
	uint64_t numbered[RUN_TRACKS_MAX];
	for (unsigned i = 0; i < run->track_count; i++)
		numbered[i] = run->tracks[i].priv->counted;
	uint32_t mode = priv->mode;
	for (size_t i = 0; i < rest_count; i++) {
		if (rest[i].run != run->id || (rest[i].kind != RECORD_BATCH_END && rest[i].kind != RECORD_MODE))
			continue;
		if (rest[i].kind == RECORD_MODE) {
			mode = run_mode_of(run, rest[i].mode.name);
			continue;
		}
		struct total_key key = { TOTAL_BATCH, rest[i].lane, mode, 0, 0 };
		const struct total *total = totals_find(&priv->totals, &key, false);
		struct track *track = run_track(run, mode, false);
		if (total && track && rest[i].sequence < total->upto && numbered[track - run->tracks] > 0)
			numbered[track - run->tracks]--;
	}
	for (unsigned i = 0; i < run->track_count; i++)
		track_skip_to(&run->tracks[i], numbered[i]);
}

/* -- records -- */

/* A record of losses comes after later events; the sequence numbers of the lane show where the losses are. */
static void follow_sequence(struct lane *lane, uint64_t sequence)
{
	if (lane->next_sequence > 0 && sequence > lane->next_sequence)
		lane_lose(lane);
	if (sequence >= lane->next_sequence)
		lane->next_sequence = sequence < UINT64_MAX ? sequence + 1 : sequence;
}

/* instrument() or pmtop (loop_epochs.h) found that the published passes over a DataLoader are no epochs. */
static bool has_withdrawn_epochs(const struct run *run)
{
	if (run->priv->are_passes_withdrawn)
		return true;
	const char *withdrawn = run_meta(run, "epochs_withdrawn");
	return withdrawn && strtoull(withdrawn, NULL, 10) + run->priv->epochs_ahead >= run->state.epochs_begun;
}

void run_withdraw_epochs(struct run *run)
{
	run_copy_epochs(run, NULL);
	run->priv->publishes_epochs = false;
	run->state.epochs_begun = 0;
	run->state.epoch_index = 0;
	run->state.batches_per_epoch = run->state.batches_in_epoch = 0;
	run->state.in_epoch = false;
}

static void apply_event(struct run *run, const struct record *record)
{
	struct lane *lane = find_lane(run, record->lane);
	if (!lane)
		return;
	follow_sequence(lane, record->sequence);
	switch ((enum record_kind)record->kind) {
	case RECORD_EPOCH_BEGIN:
		if (has_withdrawn_epochs(run))
			lane_close_step(run, lane, record);
		else
			lane_begin_epoch(run, lane, record);
		break;
	case RECORD_EPOCH_END:
		lane_close_step(run, lane, record);
		run_end_epoch(run, record->epoch.index, record->time_ns);
		break;
	case RECORD_BATCH_BEGIN: lane_begin_batch(run, lane, record); break;
	case RECORD_BATCH_END:
		lane_end_batch(run, lane, record);
		run->priv->epoch_has_batches = true;
		break;
	case RECORD_EVIDENCE: lane_add_evidence(run, lane, record); break;
	case RECORD_SPAN: lane_add_span(run, lane, record); break;
	case RECORD_MODE: set_mode(run, record); break;
	case RECORD_GAUGE: run_set_gauge(run, record->gauge.name, record->time_ns, record->gauge.value); break;
	case RECORD_BATCH_FIGURE: run_take_figure(run, record); break;
	case RECORD_MARK: run_add_mark(run, record->time_ns, record->text); break;
	default: break;
	}
}

/* The writer that says that the run is ended has counted the last step; one that was killed has not. */
static void close_run(struct run *run, const struct record *record)
{
	struct run_private *priv = run->priv;
	for (size_t i = 0; run->state.is_ended && i < priv->lane_count; i++) {
		struct lane *lane = &priv->lanes[i];
		struct record last = { .kind = RECORD_RUN_CLOSED, .lane = lane->id, .time_ns = record->time_ns };
		last.sequence = priv->was_ended ? 0 : lane->next_sequence;
		lane_close_step(run, lane, &last);
	}
	put_text(run->ended, sizeof run->ended, record->text && *record->text ? record->text : "ended");
	run->has_ended_orderly = end_is_orderly(run->ended);
	run->is_live = false;
	priv->closed_ns = bounded_time(record->time_ns);
	run->open_span_count = 0;
}

static void set_state(struct run *run, const struct run_state *state)
{
	if (!state)
		return;
	struct run_private *priv = run->priv;
	run->state = *state;
	run->state.mode = priv->mode = run_mode_of(run, state->mode);
	run->state.epoch_index += priv->epochs_ahead;
	run->state.epochs_begun += state->epochs_begun ? priv->epochs_ahead : 0;
	if (!state->epochs_planned && run->state.epochs_begun <= priv->loop_planned)
		run->state.epochs_planned = priv->loop_planned;
	priv->publishes_epochs |= state->epochs_begun || state->epochs_planned || state->batches_per_epoch;
	if (has_withdrawn_epochs(run))
		run_withdraw_epochs(run);
	if (!priv->has_state)
		priv->was_ended = state->is_ended;
	priv->has_state = true;
}

void run_apply(struct run *run, const struct record *record, size_t rest_count)
{
	run->priv->is_changed = true;
	switch ((enum record_kind)record->kind) {
	case RECORD_NAME: run_set_name(run, record->name.id, record->name.text); break;
	case RECORD_META: run_set_meta(run, record->meta.key, record->meta.value); break;
	case RECORD_STATE: set_state(run, record->state); break;
	case RECORD_TOTAL: replace_total(run, record); break;
	case RECORD_HISTORY: run_replace_bins(run, record->history.rows, record->history.count); break;
	case RECORD_EPOCHS:
		run_replace_epochs(run, record->epochs.rows, record->epochs.count, record->epochs.dropped);
		run->priv->epochs_upto = record->epochs.upto;
		if (has_withdrawn_epochs(run))
			run_withdraw_epochs(run);
		break;
	case RECORD_COUNTER: run_set_counter(run, record->counter.name, record->time_ns, record->counter.total); break;
	case RECORD_OPEN_SPAN: run_set_open_span(run, record); break;
	case RECORD_OPEN_SPANS_NONE: run_clear_open_spans(run, record->lane); break;
	case RECORD_LOST:
		run->lost_events += record->lost.count;
		run->priv->is_lost_in_set = true;
		break;
	case RECORD_BEFORE_ATTACH: run->before_attach_events = record->lost.count; break;
	case RECORD_REFUSED:
		if (record->lane == 0)
			run->refused_events = record->lost.count;
		else if (record->lane <= REFUSAL_COUNT)
			run->refused_for[record->lane - 1] = record->lost.count;
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
