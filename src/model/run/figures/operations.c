#include "src/model/run/figures/operations.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/machine/tree.h"
#include "src/model/run/figures/totals.h"
#include "src/model/run/run_private.h"
#include "src/model/run/steps/tracks.h"

/* The source of an operation's figures: the first of its totals, chained over lanes; 0 = unattributed or between. */
struct operation_source {
	uint32_t first;
};

static bool lane_runs_batches(const struct run *run, uint16_t lane)
{
	return lane < LANES_MAX && (run->priv->batch_lanes[lane / 64] >> lane % 64 & 1) != 0;
}

static void note_batch_lanes(struct run *run)
{
	const struct totals *totals = &run->priv->totals;
	memset(run->priv->batch_lanes, 0, sizeof run->priv->batch_lanes);
	for (size_t i = 0; i < totals->count; i++)
		if (totals->list[i].key.kind == TOTAL_BATCH && totals->list[i].key.lane < LANES_MAX)
			run->priv->batch_lanes[totals->list[i].key.lane / 64] |= UINT64_C(1) << totals->list[i].key.lane % 64;
}

/* -- rows -- */

struct draft {
	size_t count;
	struct tree_row rows[TREE_ROWS_MAX];
	uint32_t first[TREE_ROWS_MAX];
};

static void draft_row(struct draft *draft, uint32_t mode, uint32_t name, uint32_t parent, uint32_t first)
{
	if (draft->count == OPERATIONS_MAX)
		return;
	draft->rows[draft->count] = (struct tree_row){ mode, name, parent };
	draft->first[draft->count++] = first;
}

static void draft_total(struct draft *draft, struct totals *totals, size_t at)
{
	struct total *total = &totals->list[at];
	total->next = 0;
	for (size_t i = 0; i < draft->count; i++) {
		const struct tree_row *row = &draft->rows[i];
		if (row->group != total->key.mode || row->name != total->key.name || row->parent != total->key.parent ||
			draft->first[i] == 0)
			continue;
		struct total *first = &totals->list[draft->first[i] - 1];
		total->next = first->next;
		first->next = (uint32_t)at + 1;
		return;
	}
	if (draft->count < OPERATIONS_MAX - 2 * RUN_TRACKS_MAX)
		draft_row(draft, total->key.mode, total->key.name, total->key.parent, (uint32_t)at + 1);
}

static bool has_row(const struct draft *draft, uint32_t mode, uint32_t name)
{
	for (size_t i = 0; i < draft->count; i++)
		if (draft->rows[i].group == mode && draft->rows[i].name == name && draft->rows[i].parent == NAME_NONE)
			return true;
	return false;
}

static bool make_room(struct run *run, size_t count)
{
	struct run_private *priv = run->priv;
	if (count <= priv->operation_room)
		return true;
	struct operation *operations = realloc(run->operations, count * sizeof *operations);
	if (!operations)
		return false;
	run->operations = operations;
	struct operation_source *sources = realloc(priv->operation_sources, count * sizeof *sources);
	if (!sources)
		return false;
	priv->operation_sources = sources;
	priv->operation_room = count;
	return true;
}

static void lay_out(struct run *run, struct draft *draft)
{
	struct run_private *priv = run->priv;
	size_t order[TREE_ROWS_MAX];
	unsigned depth[TREE_ROWS_MAX];
	if (!make_room(run, draft->count))
		return;
	tree_order(draft->rows, draft->count, order, depth);
	for (size_t i = 0; i < draft->count; i++) {
		const struct tree_row *row = &draft->rows[order[i]];
		priv->operation_sources[i].first = draft->first[order[i]];
		run->operations[i] = (struct operation){ .name = row->name,
			.parent = row->parent,
			.mode = row->group,
			.depth = depth[i],
			.min_s = NAN,
			.max_s = NAN,
			.last_s = NAN,
			.mean_s = NAN,
			.p50_s = NAN,
			.p95_s = NAN,
			.cpu_s = NAN,
			.memory_bytes = NAN,
			.share_ratio = NAN,
			.recent_median_s = NAN };
	}
	run->operation_count = draft->count;
}

/* Rebuilds the rows after a new name, lane or mode, which is rare. */
static void draft_rows(struct run *run)
{
	struct run_private *priv = run->priv;
	struct totals *totals = &priv->totals;
	struct draft *draft = malloc(sizeof *draft);
	if (!draft)
		return;
	draft->count = 0;
	for (size_t i = 0; i < totals->count; i++)
		if (totals->list[i].key.kind == TOTAL_SPAN) {
			draft_total(draft, totals, i);
			totals->list[i].is_changed = true;
		}
	for (unsigned i = 0; i < run->track_count; i++) {
		draft_row(draft, run->tracks[i].mode, NAME_UNATTRIBUTED, NAME_NONE, 0);
		if (!has_row(draft, run->tracks[i].mode, priv->between))
			draft_row(draft, run->tracks[i].mode, priv->between, NAME_NONE, 0);
	}
	note_batch_lanes(run);
	lay_out(run, draft);
	free(draft);
	priv->operation_totals = totals->count;
	priv->operation_tracks = run->track_count;
	priv->operation_between = priv->between;
	priv->renewed_ns = 0;
}

/* -- figures -- */

/* The time of a mode's batches, and between them, covered by outermost spans. For the whole run the part of an
 * operation in batches is that of the events seen; operations never seen as events count as outside. */
struct covered {
	double in_batch_s, between_s;
};

static struct covered covered_by_spans(const struct run *run, uint32_t mode)
{
	const struct totals *totals = &run->priv->totals;
	struct covered covered = { 0, 0 };
	for (size_t i = 0; i < totals->count; i++) {
		const struct total *total = &totals->list[i];
		bool is_outermost = total->key.kind == TOTAL_SPAN && total->key.mode == mode && total->key.parent == NAME_NONE;
		if (!is_outermost || !lane_runs_batches(run, total->key.lane) || total->seen_s <= 0)
			continue;
		covered.in_batch_s += total->total_s * total->in_batch_s / total->seen_s;
		covered.between_s += total->total_s * total->between_s / total->seen_s;
	}
	for (unsigned i = 0; i < run->track_count; i++)
		if (run->tracks[i].mode == mode)
			covered.in_batch_s += run->tracks[i].priv->covered_elsewhere_s;
	/* The running batch is not part of the batches' total. */
	for (size_t i = 0; i < run->priv->lane_count; i++) {
		const struct lane *lane = &run->priv->lanes[i];
		if (lane->has_step && !lane->is_ended && run->tracks[lane->track].mode == mode)
			covered.in_batch_s -= lane->covered_in_s;
	}
	return covered;
}

static double steps_total(const struct run *run, uint32_t mode)
{
	for (unsigned i = 0; i < run->track_count; i++)
		if (run->tracks[i].mode == mode && run->tracks[i].step.count)
			return run->tracks[i].step.total_s;
	return NAN;
}

static bool stands_for_between(const struct run *run, const struct operation *operation)
{
	return operation->name == run->priv->between && operation->parent == NAME_NONE;
}

static void refresh_from_totals(const struct run *run, struct operation *operation, uint32_t first)
{
	const struct totals *totals = &run->priv->totals;
	struct merged_total merged;
	double in_steps_s = NAN;
	bool is_changed = stands_for_between(run, operation);
	for (uint32_t at = first; at; at = totals->list[at - 1].next) {
		const struct total *total = &totals->list[at - 1];
		is_changed = is_changed || total->is_changed;
		double part_s = total->in_batch_s + total->between_s;
		if (lane_runs_batches(run, total->key.lane) && part_s > 0)
			in_steps_s = (isnan(in_steps_s) ? 0 : in_steps_s) + total->total_s * fmin(part_s / total->seen_s, 1);
	}
	operation->share_ratio = in_steps_s / steps_total(run, operation->mode);
	if (!is_changed)
		return;
	merged_total_init(&merged);
	for (uint32_t at = first; at; at = totals->list[at - 1].next)
		merged_total_add(&merged, &totals->list[at - 1]);
	operation->count = merged.count;
	operation->total_s = merged.total_s;
	operation->self_s = merged.self_s;
	operation->min_s = merged.min_s;
	operation->max_s = merged.max_s;
	operation->last_s = merged.last_s;
	operation->mean_s = merged.count ? merged.total_s / (double)merged.count : NAN;
	merged_total_quantiles(&merged, &operation->p50_s, &operation->p95_s);
	operation->cpu_s = merged.cpu_s;
	operation->memory_bytes = merged.memory_bytes;
}

static struct operation *find_operation(struct run *run, uint32_t mode, uint32_t name, uint32_t parent)
{
	for (size_t i = 0; i < run->operation_count; i++)
		if (run->operations[i].mode == mode && run->operations[i].name == name && run->operations[i].parent == parent)
			return &run->operations[i];
	return NULL;
}

/* Own rows count once per batch, or step. */
static void set_own_row(struct operation *operation, double total_s, uint64_t count, double steps_s)
{
	if (!operation || isnan(total_s))
		return;
	operation->total_s = operation->self_s = fmax(total_s, 0);
	operation->count = count;
	operation->mean_s = count ? operation->total_s / (double)count : NAN;
	operation->share_ratio = operation->total_s / steps_s;
}

static void refresh_own_rows(struct run *run, const struct track *track)
{
	struct covered covered = covered_by_spans(run, track->mode);
	double unattributed_s = track->batch.total_s - covered.in_batch_s, steps_s = steps_total(run, track->mode);
	set_own_row(
		find_operation(run, track->mode, NAME_UNATTRIBUTED, NAME_NONE), unattributed_s, track->batch.count, steps_s);
	if (track->step.count == 0)
		return;
	/* The last batch is not part of the steps yet. */
	uint64_t ahead = track->batch.count - track->step.count;
	double ahead_s = ahead == 1 ? track->batch.last_s : (double)ahead * track->batch.mean_s;
	double in_batches_s = track->batch.total_s - (track->batch.count > track->step.count ? ahead_s : 0);
	double between_s = fmax(track->step.total_s - in_batches_s - covered.between_s, 0);
	struct operation *operation = find_operation(run, track->mode, run->priv->between, NAME_NONE);
	if (!operation || isnan(between_s))
		return;
	if (run->priv->operation_sources[operation - run->operations].first == 0) {
		set_own_row(operation, between_s, track->step.count, steps_s);
		return;
	}
	/* The row also has published spans of the same name (of the DataLoader): add the time between that they do not
	 * cover. */
	operation->total_s += between_s;
	operation->self_s += between_s;
	operation->mean_s = operation->total_s / (double)operation->count;
	operation->share_ratio += between_s / steps_s;
}

static void renew_recent_median(struct operation *operation, const struct track *track)
{
	double values[RUN_RECENT];
	size_t count = 0, batches = 0;
	for (uint64_t ordinal = track->end; ordinal-- > track->first && batches < RUN_RECENT;) {
		const struct batch *batch = track_batch(track, ordinal);
		if (!batch || !isfinite(batch->step_s))
			continue;
		batches++;
		for (unsigned i = 0; i < batch->phase_count; i++)
			if (batch->phases[i].name == operation->name && batch->phases[i].parent == operation->parent)
				values[count++] = (double)batch->phases[i].seconds;
	}
	operation->recent_median_s = median_of(values, count);
}

void run_refresh_operations(struct run *run, bool with_recent)
{
	struct run_private *priv = run->priv;
	if (priv->operation_totals != priv->totals.count || priv->operation_tracks != run->track_count ||
		priv->operation_between != priv->between) {
		draft_rows(run);
		with_recent = true;
	}
	for (size_t i = 0; i < run->operation_count; i++)
		if (priv->operation_sources[i].first)
			refresh_from_totals(run, &run->operations[i], priv->operation_sources[i].first);
	for (size_t i = 0; i < priv->totals.count; i++)
		priv->totals.list[i].is_changed = false;
	for (unsigned i = 0; i < run->track_count; i++)
		refresh_own_rows(run, &run->tracks[i]);
	for (size_t i = 0; with_recent && i < run->operation_count; i++) {
		const struct track *track = run_track(run, run->operations[i].mode, false);
		if (track)
			renew_recent_median(&run->operations[i], track);
	}
}
