#include "src/export/trace/trace_lane.h"

#include <stdlib.h>
#include <string.h>

/* Limits for a batch or outermost span that never ends: beyond them its spans so far are written without it. */
enum { BUILDING_MAX = 65536, UNCERTAIN_MAX = 1024 };

static bool reserve(struct lane_slices *slices, size_t more)
{
	if (slices->first + slices->count + more <= slices->capacity)
		return true;
	if (slices->first > slices->count + more) {
		memmove(slices->list, slices->list + slices->first, slices->count * sizeof *slices->list);
		slices->first = 0;
		return true;
	}
	size_t capacity = (slices->first + slices->count + more) * 2 + 64;
	struct lane_slice *list = realloc(slices->list, capacity * sizeof *list);
	if (!list)
		return false;
	slices->list = list;
	slices->capacity = capacity;
	return true;
}

static bool push(struct lane_slices *slices, const struct lane_slice *slice)
{
	if (!reserve(slices, 1))
		return false;
	slices->list[slices->first + slices->count++] = *slice;
	return true;
}

void trace_lane_release(struct trace_lane *lane)
{
	free(lane->building.list);
	free(lane->ready.list);
	*lane = (struct trace_lane){ .has_batch = false };
}

/* -- units -- */

/* The first track that is free at that time; a new one if none is. */
static unsigned find_track(struct trace_lane *lane, const struct lane_slice *root)
{
	for (unsigned i = 0; i < lane->track_count; i++)
		if (root->begin_ns >= lane->track_ends_ns[i])
			return i;
	return lane->track_count;
}

struct level {
	int64_t next_ns, end_ns;
}; /* a slice within must begin at next_ns or later and end at end_ns or earlier */

/* INT64_MAX: no batch. */
static int64_t batch_begin(const struct lane_slices *from)
{
	for (size_t i = from->count; i-- > 0;)
		if (from->list[from->first + i].is_batch)
			return from->list[from->first + i].begin_ns;
	return INT64_MAX;
}

/* Outside of a batch: nothing on the lane's own track may overlap the next batch. */
static bool does_nest(const struct lane_slice *slice, const struct level *within, int64_t batch_ns)
{
	if (within)
		return slice->begin_ns >= within->next_ns && slice->end_ns <= within->end_ns;
	return slice->is_batch || slice->begin_ns >= batch_ns || slice->end_ns <= batch_ns;
}

/* Moves units that nest to `ready`, and those that do not to `apart`, each with its children. */
static void sort_out(struct trace_lane *lane, const struct lane_slices *from, struct lane_slices *apart)
{
	struct level levels[LANE_LEVELS];
	int64_t batch_ns = batch_begin(from);
	int apart_level = -1;
	unsigned track = 0;
	for (size_t i = 0; i < from->count; i++) {
		struct lane_slice slice = from->list[from->first + i];
		struct level *within = slice.level ? &levels[slice.level - 1] : NULL;
		bool is_apart = apart_level >= 0 && (int)slice.level > apart_level;
		if (!is_apart)
			apart_level = -1;
		if (!is_apart && !does_nest(&slice, within, batch_ns)) {
			is_apart = true;
			apart_level = (int)slice.level;
		}
		if (is_apart) {
			slice.level = (uint16_t)(slice.level - apart_level);
			lane->failed |= !push(apart, &slice);
			continue;
		}
		if (within)
			within->next_ns = slice.end_ns;
		else
			track = find_track(lane, &slice);
		levels[slice.level] = (struct level){ slice.begin_ns, slice.end_ns };
		if (track == LANE_TRACKS) {
			lane->left_out++;
			continue;
		}
		if (!within) {
			lane->track_count += track == lane->track_count;
			lane->track_ends_ns[track] = slice.end_ns;
		}
		slice.track = (uint16_t)track;
		lane->failed |= !push(&lane->ready, &slice);
	}
}

/* Makes all slices in `building` final. Each round moves at least the outermost of the rest, so the loop ends. */
static void commit(struct trace_lane *lane)
{
	struct lane_slices from = lane->building, apart = { NULL, 0, 0, 0 };
	if (from.count == 0)
		return;
	if (lane->track_count == 0) {
		lane->track_ends_ns[0] = INT64_MIN;
		lane->track_count = 1;
	}
	sort_out(lane, &from, &apart);
	while (apart.count) {
		struct lane_slices rest = apart;
		apart = (struct lane_slices){ NULL, 0, 0, 0 };
		sort_out(lane, &rest, &apart);
		free(rest.list);
	}
	free(apart.list);
	lane->building.first = lane->building.count = 0;
	lane->batch.at = lane->gap_at = 0;
}

/* NULL while the list is empty and not allocated. */
static struct lane_slice *first_of(const struct lane_slices *slices)
{
	return slices->list ? slices->list + slices->first : NULL;
}

/* Inserts `slice` before building[at …], which become its children. */
static void enclose(struct trace_lane *lane, size_t at, const struct lane_slice *slice)
{
	struct lane_slices *building = &lane->building;
	if (!push(building, slice)) {
		lane->failed = true;
		return;
	}
	struct lane_slice *list = first_of(building);
	for (size_t i = building->count - 1; i > at; i--) {
		list[i] = list[i - 1];
		list[i].level = (uint16_t)(list[i].level + 1 < LANE_LEVELS ? list[i].level + 1 : LANE_LEVELS - 1);
	}
	list[at] = *slice;
	list[at].level = 0;
}

void trace_lane_span(struct trace_lane *lane, const struct lane_slice *span)
{
	struct lane_slices *building = &lane->building;
	struct lane_slice *list = first_of(building);
	struct lane_slice own = *span;
	/* One level is reserved for the batch. */
	own.depth = own.depth < LANE_LEVELS - 2 ? own.depth : LANE_LEVELS - 2;
	size_t at = building->count;
	for (size_t i = at; i-- > lane->batch.at;) {
		if (list[i].level)
			continue;
		/* A span that ended before this one began is no child: its parent was lost. */
		if (list[i].depth <= own.depth || (list[i].begin_ns < own.begin_ns && list[i].end_ns <= own.begin_ns))
			break;
		at = i;
	}
	if (lane->gap_at > at)
		lane->gap_at = at;
	enclose(lane, at, &own);
	lane->is_certain |= building->count >= UNCERTAIN_MAX;
	if ((own.depth == 0 && !lane->has_batch && lane->is_certain) || building->count >= BUILDING_MAX)
		commit(lane);
}

/* -- batches -- */

/* Spans that ended in the batch but began before it are not its children: moves them to the front. Returns the index of
 * the batch's first child. */
static size_t part(struct trace_lane *lane, size_t at, const struct lane_slice *batch)
{
	struct lane_slices *building = &lane->building, own = { NULL, 0, 0, 0 };
	struct lane_slice *list = first_of(building);
	bool is_own = true;
	size_t retained = at;
	size_t i = at;
	while (i < building->count && list[i].begin_ns >= batch->begin_ns)
		i++;
	if (i == building->count)
		return at;
	for (i = at; i < building->count; i++) {
		if (list[i].level == 0)
			is_own = list[i].begin_ns >= batch->begin_ns;
		if (!is_own)
			list[retained++] = list[i];
		else
			lane->failed |= !push(&own, &list[i]);
	}
	building->count = retained;
	for (i = 0; i < own.count; i++)
		lane->failed |= !push(building, &own.list[i]);
	free(own.list);
	return retained;
}

static void close_batch(struct trace_lane *lane, const struct lane_slice *batch)
{
	enclose(lane, part(lane, lane->batch.at, batch), batch);
	lane->has_batch = false;
	lane->is_certain = true;
	commit(lane);
}

/* Ends a running batch whose end was lost. */
static void cut_batch(struct trace_lane *lane, int64_t time_ns)
{
	if (!lane->has_batch)
		return;
	bool is_in_gap = lane->gap_ns && lane->gap_ns >= lane->batch.begin_ns;
	struct lane_slice batch = { .begin_ns = lane->batch.begin_ns,
		.end_ns = is_in_gap ? lane->gap_ns : time_ns,
		.is_batch = true,
		.is_unfinished = true,
		.batch = { lane->batch.number, lane->batch.index, (double)__builtin_nan("") } };
	if (batch.end_ns < batch.begin_ns)
		batch.end_ns = batch.begin_ns;
	/* Slices after the gap are not its children. */
	struct lane_slices *building = &lane->building, later = { NULL, 0, 0, 0 };
	size_t retained = is_in_gap && lane->gap_at >= lane->batch.at ? lane->gap_at : building->count;
	for (size_t i = retained; i < building->count; i++)
		lane->failed |= !push(&later, &building->list[building->first + i]);
	building->count = retained;
	close_batch(lane, &batch);
	for (size_t i = 0; i < later.count; i++)
		lane->failed |= !push(building, &later.list[i]);
	free(later.list);
}

void trace_lane_batch_begin(struct trace_lane *lane, int64_t time_ns, uint64_t number, uint64_t index)
{
	cut_batch(lane, time_ns);
	commit(lane);
	lane->has_batch = lane->is_certain = true;
	lane->batch = (struct lane_open){ time_ns, number, index, lane->building.count };
}

void trace_lane_batch_end(struct trace_lane *lane, const struct lane_slice *batch)
{
	if (lane->has_batch && lane->batch.number != batch->batch.number)
		cut_batch(lane, batch->begin_ns);
	close_batch(lane, batch);
}

void trace_lane_gap(struct trace_lane *lane, int64_t time_ns)
{
	lane->gap_ns = time_ns;
	lane->gap_at = lane->building.count;
	lane->is_certain = false;
}

void trace_lane_finish(struct trace_lane *lane, int64_t time_ns)
{
	cut_batch(lane, time_ns);
	commit(lane);
}

/* -- finished units -- */

size_t trace_lane_unit(const struct trace_lane *lane, const struct lane_slice **unit)
{
	const struct lane_slices *ready = &lane->ready;
	size_t count = ready->count > 0;
	*unit = first_of(ready);
	while (count < ready->count && (*unit)[count].level)
		count++;
	return count;
}

void trace_lane_drop_unit(struct trace_lane *lane)
{
	const struct lane_slice *unit;
	size_t count = trace_lane_unit(lane, &unit);
	lane->ready.first += count;
	lane->ready.count -= count;
	if (lane->ready.count == 0)
		lane->ready.first = 0;
}
