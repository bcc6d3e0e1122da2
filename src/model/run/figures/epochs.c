#include "src/model/run/figures/epochs.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/run/run_private.h"
#include "src/model/run/steps/tracks.h"

enum { EPOCHS_FIRST = 16 };
static const struct allocator no_allocator = { NAN, NAN, NAN };
/* A tolerance for regions that read the clock twice, for an epoch's row and for its event; pmtop.h reads it once. */
#define SAME_NS NS_PER_MS

static bool make_room(struct run *run, size_t count)
{
	struct run_private *priv = run->priv;
	if (count <= priv->epoch_room)
		return true;
	size_t room = priv->epoch_room ? priv->epoch_room : EPOCHS_FIRST;
	while (room < count)
		room *= 2;
	struct epoch *epochs = realloc(run->epochs, room * sizeof *epochs);
	if (!epochs)
		return false;
	run->epochs = epochs;
	priv->epoch_room = room;
	return true;
}

static void drop_oldest(struct run *run, size_t count)
{
	memmove(run->epochs, run->epochs + count, (run->epoch_count - count) * sizeof *run->epochs);
	run->epoch_count -= count;
	run->epochs_dropped += count;
}

static struct epoch *newest(struct run *run) { return run->epoch_count ? &run->epochs[run->epoch_count - 1] : NULL; }

struct epoch *run_epoch_at(struct run *run, int64_t time_ns)
{
	for (size_t i = run->epoch_count; i-- > 0;) {
		struct epoch *epoch = &run->epochs[i];
		if (epoch->begin_ns <= time_ns)
			return epoch->end_ns == 0 || time_ns < epoch->end_ns ? epoch : NULL;
	}
	return NULL;
}

void run_assign_epoch(struct run *run, const struct track *track, struct batch *batch)
{
	const struct epoch *epoch = run_epoch_at(run, batch->begin_ns);
	/* Validation between two epochs belongs to the previous one. */
	for (size_t i = run->epoch_count; !epoch && track->mode != NAME_NONE && i-- > 0;)
		epoch = run->epochs[i].begin_ns <= batch->begin_ns ? &run->epochs[i] : NULL;
	batch->epoch = epoch ? epoch->index : 0;
	batch->epoch_ordinal = epoch ? epoch->ordinal : 0;
}

static bool is_near(int64_t a_ns, int64_t b_ns) { return fabs((double)a_ns - (double)b_ns) <= SAME_NS; }

static void note_boundary(struct run *run, int64_t time_ns)
{
	if (time_ns > run->priv->boundary_ns)
		run->priv->boundary_ns = time_ns;
}

static void end_epoch(const struct run *run, struct epoch *epoch, int64_t time_ns)
{
	epoch->end_ns = time_ns;
	epoch->allocator = run_allocator(run);
	epoch->planned = run->state.batches_per_epoch;
}

void run_begin_epoch(struct run *run, uint32_t index, int64_t time_ns)
{
	note_boundary(run, time_ns);
	struct epoch *last = newest(run);
	if (last && (time_ns <= last->begin_ns || (last->index == index && is_near(time_ns, last->begin_ns))))
		return;
	if (run->epoch_count >= EPOCHS_ROOM_MAX)
		drop_oldest(run, run->epoch_count - EPOCHS_MAX);
	if (!make_room(run, run->epoch_count + 1))
		return;
	last = newest(run);
	if (last && last->end_ns == 0)
		end_epoch(run, last, time_ns);
	uint32_t ordinal = last ? last->ordinal + 1 : run->priv->epochs_ahead + 1;
	/* An epoch without a number may precede it. */
	if (run->is_counted && index < EPOCH_UNKNOWN && ordinal <= index)
		ordinal = index + 1;
	run->epochs[run->epoch_count++] = (struct epoch){ .index = index,
		.ordinal = ordinal,
		.mode = run->priv->mode,
		.begin_ns = time_ns,
		.mean_s = NAN,
		.min_s = NAN,
		.max_s = NAN,
		.allocator = no_allocator };
	run->priv->epoch_has_batches = false;
}

void run_end_epoch(struct run *run, uint32_t index, int64_t time_ns)
{
	note_boundary(run, time_ns);
	struct epoch *last = newest(run);
	if (last && last->end_ns == 0 && time_ns >= last->begin_ns)
		end_epoch(run, last, time_ns);
	/* It was a pass of validation, and the next epoch gets its number. */
	if (last && run->is_counted && index == EPOCH_UNKNOWN && last->index != EPOCH_UNKNOWN && last->end_ns == time_ns)
		run->epoch_count--;
}

/* An inferred batch that began and ended between the same two readings as others may have no time of its own: 0. */
void epoch_add_batch(struct epoch *epoch, double batch_s)
{
	bool is_first = epoch->batches++ == 0, has_shown = !is_first && !isnan(epoch->min_s);
	epoch->mean_s = is_first ? batch_s : epoch->mean_s + (batch_s - epoch->mean_s) / (double)epoch->batches;
	if (!(batch_s > 0))
		return;
	epoch->min_s = has_shown ? fmin(epoch->min_s, batch_s) : batch_s;
	epoch->max_s = has_shown ? fmax(epoch->max_s, batch_s) : batch_s;
}

static struct epoch epoch_of(const struct run *run, const struct epoch_row *row, uint64_t ordinal)
{
	bool has_batches = row->batches > 0 && isfinite(row->sum_s) && row->sum_s >= 0;
	return (struct epoch){ .index = row->index + run->priv->epochs_ahead,
		.ordinal = (uint32_t)ordinal + run->priv->epochs_ahead,
		.mode = run_mode_of(run, row->mode),
		.begin_ns = row->begin_ns,
		.end_ns = row->end_ns > row->begin_ns ? row->end_ns : 0,
		.batches = row->batches,
		.mean_s = has_batches ? row->sum_s / (double)row->batches : NAN,
		.min_s = has_batches ? row->min_s : NAN,
		.max_s = has_batches ? row->max_s : NAN,
		.allocator = no_allocator };
}

void run_replace_epochs(struct run *run, const struct epoch_row *rows, size_t count, uint64_t dropped)
{
	if (!rows || count > EPOCHS_MAX || !make_room(run, count))
		return;
	run->epoch_count = 0;
	run->epochs_dropped = dropped;
	for (size_t i = 0; i < count; i++) {
		struct epoch *last = newest(run);
		if (last && rows[i].begin_ns <= last->begin_ns)
			continue;
		/* Only the latest epoch may be open. */
		if (last && last->end_ns == 0)
			last->end_ns = rows[i].begin_ns;
		run->epochs[run->epoch_count++] = epoch_of(run, &rows[i], dropped + i + 1);
	}
	run->priv->epoch_has_batches = newest(run) && newest(run)->batches > 0;
}

void run_copy_epochs(struct run *run, const struct run *from)
{
	size_t count = from && make_room(run, from->epoch_count) ? from->epoch_count : 0;
	if (count)
		memcpy(run->epochs, from->epochs, count * sizeof *run->epochs);
	run->epoch_count = count;
	run->epochs_dropped = count ? from->epochs_dropped : 0;
}

static void shift_batch(struct batch *batch, uint32_t ahead)
{
	if (batch->epoch_ordinal == 0)
		return;
	batch->epoch += ahead;
	batch->epoch_ordinal += ahead;
}

void run_shift_epochs(struct run *run, uint32_t ahead)
{
	run->priv->epochs_ahead += ahead;
	run->state.epoch_index += ahead;
	run->state.epochs_begun += ahead;
	for (size_t i = 0; i < run->epoch_count; i++) {
		run->epochs[i].index += ahead;
		run->epochs[i].ordinal += ahead;
	}
	for (struct track *track = run->tracks; track < run->tracks + run->track_count; track++)
		for (size_t i = 0; i < track->capacity; i++)
			if (track->ring[i].ordinal >= track->first && track->ring[i].ordinal < track->end)
				shift_batch(&track->ring[i], ahead);
	for (size_t i = 0; i < run->flagged_count; i++)
		shift_batch(&run->flagged[i].batch, ahead);
}

void run_reconcile_epochs(struct run *run)
{
	const struct run_state *state = &run->state;
	if (!state->in_epoch)
		return;
	struct epoch *last = newest(run);
	if (!last || state->epochs_begun > last->ordinal) {
		run_begin_epoch(run, state->epoch_index, state->epoch_begin_ns);
		last = newest(run);
		if (last && last->begin_ns == state->epoch_begin_ns)
			last->ordinal = state->epochs_begun;
	}
	if (last && last->end_ns == 0 && last->index == state->epoch_index && state->batches_in_epoch > last->batches)
		last->batches = state->batches_in_epoch;
}

void run_refresh_epochs(struct run *run, int64_t now_ns)
{
	for (size_t i = 0; i < run->epoch_count; i++) {
		struct epoch *epoch = &run->epochs[i];
		int64_t until_ns = epoch->end_ns ? epoch->end_ns : now_ns;
		epoch->total_s =
			until_ns > epoch->begin_ns ? (double)((uint64_t)until_ns - (uint64_t)epoch->begin_ns) * 1e-9 : 0;
		/* It began before pmtop attached. */
		if (run->is_counted && epoch->batches > 0 && isnan(epoch->mean_s))
			epoch->total_s = NAN;
	}
}
