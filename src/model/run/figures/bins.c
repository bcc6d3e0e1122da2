#include "src/model/run/figures/bins.h"

#include <stdlib.h>

#include "src/model/run/run_private.h"

enum { BINS_FIRST = 64 };

static bool make_room(struct run *run, size_t count)
{
	struct run_private *priv = run->priv;
	if (count <= priv->bin_room)
		return true;
	size_t room = priv->bin_room ? priv->bin_room : BINS_FIRST;
	while (room < count)
		room *= 2;
	struct bin *bins = realloc(run->bins, room * sizeof *bins);
	if (!bins)
		return false;
	run->bins = bins;
	priv->bin_room = room;
	return true;
}

static void merge_neighbours(struct run *run)
{
	size_t merged = 0;
	for (size_t i = 0; i < run->bin_count; i += 2) {
		struct bin bin = run->bins[i];
		if (i + 1 < run->bin_count) {
			const struct bin *right = &run->bins[i + 1];
			bin.count += right->count;
			bin.sum_s += right->sum_s;
			bin.min_s = fmin(bin.min_s, right->min_s);
			bin.max_s = fmax(bin.max_s, right->max_s);
		}
		run->bins[merged++] = bin;
	}
	run->bin_count = merged;
	run->priv->bin_width *= 2;
}

/* Steps that the region's history contained at attach have the same numbers, and are not added again. */
void run_add_bin(struct run *run, uint64_t ordinal, int64_t begin_ns, double step_s)
{
	struct run_private *priv = run->priv;
	struct bin *last = run->bin_count ? &run->bins[run->bin_count - 1] : NULL;
	if (last && ordinal < last->first + last->count)
		return;
	if (!last || last->count >= priv->bin_width) {
		if (run->bin_count == BINS_MAX)
			merge_neighbours(run);
		if (!make_room(run, run->bin_count + 1))
			return;
		last = &run->bins[run->bin_count++];
		*last = (struct bin){ .first = ordinal, .min_s = step_s, .max_s = step_s, .begin_ns = begin_ns };
	}
	last->count++;
	last->sum_s += step_s;
	last->min_s = fmin(last->min_s, step_s);
	last->max_s = fmax(last->max_s, step_s);
}

static bool makes_sense(const struct history_row *row)
{
	return row->count > 0 && row->first <= UINT64_MAX / 2 && row->count <= UINT64_MAX / 4 && isfinite(row->sum_s) &&
		row->sum_s >= 0 && isfinite(row->min_s) && isfinite(row->max_s);
}

void run_replace_bins(struct run *run, const struct history_row *rows, size_t count)
{
	struct run_private *priv = run->priv;
	if (!rows || count > BINS_MAX || !make_room(run, count))
		return;
	run->bin_count = 0;
	priv->bin_width = 1;
	for (size_t i = 0; i < count; i++) {
		const struct bin *last = run->bin_count ? &run->bins[run->bin_count - 1] : NULL;
		if (!makes_sense(&rows[i]) || (last && rows[i].first < last->first + last->count))
			continue;
		while (priv->bin_width < rows[i].count)
			priv->bin_width *= 2;
		run->bins[run->bin_count++] =
			(struct bin){ rows[i].first, rows[i].count, rows[i].sum_s, rows[i].min_s, rows[i].max_s, rows[i].begin_ns };
	}
}
