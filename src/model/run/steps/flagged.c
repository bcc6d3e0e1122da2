#include "src/model/run/steps/flagged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/run/run_private.h"
#include "src/model/run/steps/baseline.h"
#include "src/model/run/steps/explanation.h"
#include "src/model/run/steps/tracks.h"

/* The list moves through its storage, so that dropping the oldest rarely has to move the rest. */
enum { FLAGGED_FIRST = 8, FLAGGED_ROOM_MAX = RUN_FLAGGED_MAX + RUN_FLAGGED_MAX / 4 };

static const struct explanation none = {
	.step_s = NAN, .baseline_s = NAN, .excess_s = NAN, .ratio = NAN, .samples = NAN, .baseline_samples = NAN
};

const struct explanation *flagged_explanation(const struct flagged *flagged)
{
	return flagged->explanation ? flagged->explanation : &none;
}

static void release(struct flagged *flagged)
{
	free(flagged->batch_window);
	free(flagged->explanation);
}

static void drop_oldest(struct run *run)
{
	release(run->flagged);
	run->flagged++;
	run->flagged_count--;
}

void run_release_flagged(struct run *run)
{
	for (size_t i = 0; i < run->flagged_count; i++)
		release(&run->flagged[i]);
	free(run->priv->flagged_storage);
}

static bool make_room(struct run *run)
{
	struct run_private *priv = run->priv;
	size_t offset = priv->flagged_storage ? (size_t)(run->flagged - priv->flagged_storage) : 0;
	if (run->flagged_count == RUN_FLAGGED_MAX) {
		drop_oldest(run);
		offset++;
	}
	if (offset + run->flagged_count < priv->flagged_room)
		return true;
	if (priv->flagged_room < FLAGGED_ROOM_MAX) {
		size_t room = priv->flagged_room ? priv->flagged_room * 2 : FLAGGED_FIRST;
		room = room < FLAGGED_ROOM_MAX ? room : FLAGGED_ROOM_MAX;
		struct flagged *storage = realloc(priv->flagged_storage, room * sizeof *storage);
		if (storage) {
			priv->flagged_storage = storage;
			priv->flagged_room = room;
			run->flagged = storage + offset;
			return true;
		}
	}
	if (priv->flagged_room == 0)
		return false;
	if (offset == 0)
		drop_oldest(run);
	memmove(priv->flagged_storage, run->flagged, run->flagged_count * sizeof *run->flagged);
	run->flagged = priv->flagged_storage;
	return true;
}

/* Sorted by time; new ones are usually the latest. */
static size_t position_for(const struct run *run, int64_t begin_ns)
{
	size_t position = run->flagged_count;
	while (position > 0 && run->flagged[position - 1].batch.begin_ns > begin_ns)
		position--;
	return position;
}

void run_add_flagged(struct run *run, struct track *track, struct batch *batch)
{
	batch->is_flagged = true;
	track->flagged_count++;
	if (!make_room(run))
		return;
	size_t position = position_for(run, batch->begin_ns);
	memmove(
		run->flagged + position + 1, run->flagged + position, (run->flagged_count - position) * sizeof *run->flagged);
	run->flagged_count++;
	struct flagged *flagged = &run->flagged[position];
	*flagged = (struct flagged){ .mode = track->mode, .batch = *batch };
	track_baseline(track, batch->ordinal, &flagged->baseline);
}

const struct flagged *run_find_flagged(const struct run *run, uint32_t mode, uint64_t ordinal)
{
	for (size_t i = run->flagged_count; i-- > 0;)
		if (run->flagged[i].mode == mode && run->flagged[i].batch.ordinal == ordinal)
			return &run->flagged[i];
	return NULL;
}

static struct flagged *find_flagged(struct run *run, uint32_t mode, uint64_t ordinal)
{
	const struct flagged *flagged = run_find_flagged(run, mode, ordinal);
	return flagged ? &run->flagged[flagged - run->flagged] : NULL;
}

static bool remove_flagged(struct run *run, uint32_t mode, uint64_t ordinal)
{
	struct flagged *flagged = find_flagged(run, mode, ordinal);
	if (!flagged)
		return false;
	size_t after = run->flagged_count - (size_t)(flagged - run->flagged) - 1;
	release(flagged);
	memmove(flagged, flagged + 1, after * sizeof *flagged);
	run->flagged_count--;
	return true;
}

void run_renew_flagged(struct run *run, const struct track *track, const struct batch *batch)
{
	struct flagged *flagged = find_flagged(run, track->mode, batch->ordinal);
	if (!flagged)
		return;
	flagged->batch = *batch;
	flagged->has_news = true;
}

bool run_flag(struct run *run, unsigned index, uint64_t ordinal, bool flagged)
{
	if (index >= run->track_count)
		return false;
	struct track *track = &run->tracks[index];
	struct batch *batch = track_slot(track, ordinal);
	bool is_retained = batch || find_flagged(run, track->mode, ordinal);
	if (!is_retained || (!batch && flagged))
		return is_retained;
	bool was_flagged = batch ? batch->is_flagged : true;
	if (batch) {
		batch->is_flagged = flagged;
		batch->is_by_hand = true;
	}
	if (flagged && !was_flagged)
		run_add_flagged(run, track, batch);
	else if (flagged)
		run_renew_flagged(run, track, batch);
	else
		remove_flagged(run, track->mode, ordinal);
	track->flagged_count -= (!flagged && was_flagged);
	return true;
}
