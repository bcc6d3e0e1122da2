#include "ui/widgets/plots/trace.h"

#include <math.h>

#include "src/base/clock.h"
#include "src/model/run/steps/tracks.h"
#include "src/model/statistics/statistics.h"
#include "ui/widgets/batch_focus.h"

/* -- steps -- */

static const uint64_t step_levels[] = { 10, 25, 50, 100, RUN_RECENT, 500, 1000, 2000, 5000 };
enum { STEP_LEVELS = sizeof step_levels / sizeof step_levels[0], STEP_DEFAULT = 4, FIGURES_MAX = 8192 };

static bool level_is_whole(const struct track *track, int zoom)
{
	int level = STEP_DEFAULT - zoom;
	if (level < 0)
		return false;
	return level >= STEP_LEVELS || (level >= STEP_DEFAULT && step_levels[level] >= track->count);
}

bool trace_can_zoom(const struct scene *scene, const struct run *run, int step)
{
	int zoom = scene->state->zoom;
	return step > 0 ? zoom < STEP_DEFAULT : !level_is_whole(run_main(run), zoom);
}

static void stretch_times(const struct track *track, struct stretch *out)
{
	const struct batch *first = track_batch(track, out->first),
					   *last = out->end > 0 ? track_batch(track, out->end - 1) : NULL;
	out->from_ns = first ? first->begin_ns : 0;
	out->to_ns = last ? last->end_ns : out->from_ns;
}

void trace_stretch(const struct scene *scene, const struct run *run, struct stretch *out)
{
	const struct track *track = run_main(run);
	uint64_t length, retained, end;
	*out = (struct stretch){ .is_whole = level_is_whole(track, scene->state->zoom) };
	out->is_binned = out->is_whole && track->first > 0 && run->bin_count > 0;
	if (out->is_binned) {
		out->count = run->bin_count;
		out->from_ns = run->bins[0].begin_ns;
		out->to_ns = scene->now_ns;
		return;
	}
	batch_range(track, &retained, &end);
	length = out->is_whole ? end - retained : step_levels[STEP_DEFAULT - scene->state->zoom];
	if (length > end - retained)
		length = end - retained;
	out->first = end - length;
	if (scene_has_focus(scene, run, track) && scene->focus.batch < out->first) {
		uint64_t before = length / 2;
		out->first = scene->focus.batch > retained + before ? scene->focus.batch - before : retained;
	}
	out->end = out->first + length;
	out->count = (size_t)length;
	stretch_times(track, out);
}

/* Which items (batches or bins, counted from the stretch's first) a column shows: at least one. */
static void column_items(size_t count, size_t column, size_t columns, size_t *from, size_t *to)
{
	*from = column * count / columns;
	*to = (column + 1) * count / columns;
	if (*to <= *from)
		*to = *from + 1;
}

/* The first column that shows an item. */
static size_t column_of(size_t item, size_t count, size_t columns)
{
	size_t column = item * columns / count, from, to;
	column_items(count, column, columns, &from, &to);
	while (to <= item && column + 1 < columns)
		column_items(count, ++column, columns, &from, &to);
	return column;
}

static void widen(struct plot_point *point, double low, double high)
{
	if (isnan(high))
		return;
	point->low = isnan(point->low) || low < point->low ? low : point->low;
	point->high = isnan(point->high) || high > point->high ? high : point->high;
}

static void mark_flagged_bins(const struct run *run, struct plot_point *points, size_t columns)
{
	size_t bin = 0;
	for (size_t i = 0; i < run->flagged_count; i++) {
		int64_t begin_ns = run->flagged[i].batch.begin_ns;

		while (bin + 1 < run->bin_count && run->bins[bin + 1].begin_ns <= begin_ns)
			bin++;
		points[column_of(bin, run->bin_count, columns)].is_flagged = true;
	}
}

void trace_steps(const struct run *run, const struct stretch *stretch, struct plot_point *points, size_t columns)
{
	const struct track *track = run_main(run);
	for (size_t column = 0; column < columns; column++) {
		size_t from, to;

		points[column] = (struct plot_point){ NAN, NAN, ROLE_PLOT, false };
		column_items(stretch->count, column, columns, &from, &to);
		for (size_t i = from; i < to && i < stretch->count; i++) {
			const struct batch *batch = stretch->is_binned ? NULL : track_batch(track, stretch->first + i);

			if (stretch->is_binned) {
				widen(&points[column], run->bins[i].min_s, run->bins[i].max_s);
			} else if (batch) {
				widen(&points[column], batch_pace_s(batch), batch_pace_s(batch));
				/* a batch wider than a column is marked once */
				points[column].is_flagged |=
					batch->is_flagged && (column == 0 || (column - 1) * stretch->count / columns < i);
			}
		}
	}
	if (stretch->is_binned && columns > 0)
		mark_flagged_bins(run, points, columns);
}

/* Bins count batches of all modes; those of the main mode are assumed to be spread evenly. */
static uint64_t main_ordinal(const struct run *run, size_t bin, bool is_end)
{
	const struct bin *last = &run->bins[run->bin_count - 1];
	uint64_t number = run->bins[bin].first + (is_end ? run->bins[bin].count : 0);
	return (uint64_t)((double)number * (double)run_main(run)->count / (double)(last->first + last->count));
}

void trace_ordinals(const struct run *run, const struct stretch *stretch, uint64_t *first, uint64_t *end)
{
	*first = stretch->is_binned ? 0 : stretch->first;
	*end = stretch->is_binned ? run_main(run)->count : stretch->end;
}

void trace_height(const struct run *run, const struct stretch *stretch, struct step_height *out)
{
	const struct track *track = run_main(run);
	*out = (struct step_height){ .count = 0 };
	for (size_t i = 0; i < stretch->count; i++) {
		const struct batch *batch = stretch->is_binned ? NULL : track_batch(track, stretch->first + i);

		if (stretch->is_binned)
			step_height_add(out, run->bins[i].max_s, false);
		else if (batch)
			step_height_add(out, batch_pace_s(batch), batch->is_warmup);
	}
}

void trace_earlier(
	const struct run *run, const struct stretch *stretch, const struct earlier *earlier, double *values, size_t columns)
{
	for (size_t column = 0; column < columns; column++) {
		size_t from, to;

		column_items(stretch->count, column, columns, &from, &to);
		to = to < stretch->count ? to : stretch->count;
		values[column] = NAN;
		if (from < to)
			values[column] = stretch->is_binned
				? earlier_mean(earlier, main_ordinal(run, from, false), main_ordinal(run, to - 1, true))
				: earlier_mean(earlier, stretch->first + from, stretch->first + to);
	}
}

bool trace_column(const struct stretch *stretch, uint64_t ordinal, size_t columns, size_t *column)
{
	if (stretch->is_binned || ordinal < stretch->first || ordinal >= stretch->end || columns == 0)
		return false;
	*column = column_of((size_t)(ordinal - stretch->first), stretch->count, columns);
	return true;
}

bool trace_batch_at(
	const struct run *run, const struct stretch *stretch, size_t column, size_t columns, uint64_t *ordinal)
{
	const struct track *track = run_main(run);
	size_t from, to;
	double slowest = -1;
	if (stretch->is_binned || column >= columns)
		return false;
	column_items(stretch->count, column, columns, &from, &to);
	for (size_t i = from; i < to && i < stretch->count; i++) {
		const struct batch *batch = track_batch(track, stretch->first + i);

		if (batch && batch_pace_s(batch) > slowest) {
			slowest = batch_pace_s(batch);
			*ordinal = stretch->first + i;
		}
	}
	return slowest >= 0;
}

static bool bin_times(
	const struct run *run, const struct stretch *stretch, size_t from, size_t to, int64_t *from_ns, int64_t *to_ns)
{
	*from_ns = from < run->bin_count ? run->bins[from].begin_ns : 0;
	*to_ns = to < run->bin_count ? run->bins[to].begin_ns : stretch->to_ns;
	return *from_ns != 0 && *from_ns < *to_ns;
}

bool trace_times(const struct run *run, const struct stretch *stretch, size_t column, size_t columns, int64_t *from_ns,
	int64_t *to_ns)
{
	bool has = false;
	size_t from, to;
	column_items(stretch->count, column, columns, &from, &to);
	if (stretch->is_binned)
		return bin_times(run, stretch, from, to, from_ns, to_ns);
	for (size_t i = from; i < to && i < stretch->count; i++) {
		const struct batch *batch = track_batch(run_main(run), stretch->first + i);

		if (!batch || batch->end_ns == 0)
			continue;
		*from_ns = has ? *from_ns : batch->begin_ns;
		*to_ns = batch->end_ns;
		has = true;
	}
	return has && *from_ns < *to_ns;
}

struct figures trace_figures(const struct run *run, const struct stretch *stretch)
{
	const struct track *track = run_main(run);
	struct figures out = {
		.count = 0, .p50_s = NAN, .p95_s = NAN, .max_s = NAN, .min_s = NAN, .mean_s = NAN, .last_s = NAN
	};
	double values[FIGURES_MAX];
	uint64_t first, end;
	size_t count = 0;
	if (stretch->is_whole)
		return track->step;
	batch_range(track, &first, &end);
	if (stretch->count == RUN_RECENT && stretch->end == end)
		return track->recent;
	for (uint64_t ordinal = stretch->first; ordinal < stretch->end && count < FIGURES_MAX; ordinal++) {
		const struct batch *batch = track_batch(track, ordinal);

		if (batch && !isnan(batch_pace_s(batch)))
			values[count++] = batch_pace_s(batch);
	}
	if (count == 0)
		return out;
	sort_ascending(values, count);
	out.count = count;
	out.p50_s = quantile_of_sorted(values, count, 0.5);
	out.p95_s = quantile_of_sorted(values, count, 0.95);
	out.min_s = values[0];
	out.max_s = values[count - 1];
	return out;
}

uint64_t trace_flagged(const struct run *run, const struct stretch *stretch)
{
	const struct track *track = run_main(run);
	uint64_t flagged = 0;
	if (stretch->is_whole)
		return track->flagged_count;
	for (uint64_t ordinal = stretch->first; ordinal < stretch->end; ordinal++) {
		const struct batch *batch = track_batch(track, ordinal);

		flagged += batch && batch->is_flagged;
	}
	return flagged;
}

/* -- figures over time -- */

static const int time_levels_s[] = { 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600 };
enum { TIME_LEVELS = sizeof time_levels_s / sizeof time_levels_s[0], TIME_DEFAULT = 2 };

int64_t trace_since(const struct scene *scene, int zoom)
{
	int64_t first_ns = scene->model->first_ns;
	int level = TIME_DEFAULT - zoom;
	if (level >= TIME_LEVELS)
		return first_ns;
	if (level < 0)
		level = 0;
	int64_t from_ns = scene->now_ns - time_levels_s[level] * NS_PER_S;

	return from_ns > first_ns ? from_ns : first_ns;
}

bool trace_can_zoom_time(const struct scene *scene, int zoom, int step)
{
	return step > 0 ? zoom < TIME_DEFAULT : trace_since(scene, zoom) > scene->model->first_ns;
}

bool trace_zoom_key(const struct scene *scene, struct key_event event)
{
	int step = event.key == '+' || event.key == '=' ? 1 : event.key == '-' ? -1 : 0;
	scene->state->zoom += step && trace_can_zoom_time(scene, scene->state->zoom, step) ? step : 0;
	return step != 0;
}

void trace_extremes(
	const struct scene *scene, const struct series *series, int64_t from_ns, double *smallest, double *largest)
{
	struct series_column found[256];
	size_t count = sizeof found / sizeof found[0];
	if (scene->now_ns <= from_ns)
		return;
	series_columns(series, from_ns, scene->now_ns + 1, found, count);
	for (size_t i = 0; i < count; i++) {
		if (!found[i].has)
			continue;
		*smallest = found[i].min >= *smallest ? *smallest : found[i].min;
		*largest = found[i].max <= *largest ? *largest : found[i].max;
	}
}

void trace_series(const struct scene *scene, const struct series *series, int64_t from_ns, enum role role,
	struct plot_point *points, size_t columns)
{
	struct series_column found[TRACE_POINTS_MAX];
	double column_s = seconds_between(from_ns, scene->now_ns) / (double)(columns > 0 ? columns : 1);
	double bridge_s = 3 * scene->settings->refresh_s + 2 * column_s;
	size_t last = columns;
	if (columns > TRACE_POINTS_MAX)
		columns = TRACE_POINTS_MAX;
	for (size_t i = 0; i < columns; i++) {
		found[i].has = false;
		points[i] = (struct plot_point){ NAN, NAN, role, false };
	}
	if (scene->now_ns > from_ns)
		series_columns(series, from_ns, scene->now_ns + 1, found, columns);
	for (size_t i = 0; i < columns; i++) {
		if (!found[i].has)
			continue;
		points[i].low = found[i].min;
		points[i].high = found[i].max;
		for (size_t k = last + 1; last < i && k < i && (double)(i - last) * column_s <= bridge_s; k++) {
			double part = (double)(k - last) / (double)(i - last);

			points[k].low = points[k].high = found[last].last + (found[i].min - found[last].last) * part;
		}
		last = i;
	}
}
