/* trace.h: the part of a run that a plot shows, as points: step times batch by batch or, for the whole run, from its
 * bins; memory and other figures over time. */
#ifndef PMTOP_UI_WIDGETS_PLOTS_TRACE_H
#define PMTOP_UI_WIDGETS_PLOTS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/core/plot.h"
#include "ui/widgets/plots/step_height.h"
#include "ui/widgets/view.h"

enum { TRACE_POINTS_MAX = 2048 };

/* Finished steps of the main track, first ≤ ordinal < end; or the whole run as bins. */
struct stretch {
	bool is_whole, is_binned;
	uint64_t first, end;
	size_t count; /* batches, or bins */
	int64_t from_ns, to_ns;
};
/* The steps that `zoom` shows: the newest, or those around an older focus. */
void trace_stretch(const struct scene *scene, const struct run *run, struct stretch *out);
/* Whether one more step of zoom (+1 or −1) would change the plot. */
bool trace_can_zoom(const struct scene *scene, const struct run *run, int step);
/* One point for each of `columns`; a column with several batches gets their minimum and maximum. */
void trace_steps(const struct run *run, const struct stretch *stretch, struct plot_point *points, size_t columns);
/* The height that the plot's scale needs. */
void trace_height(const struct run *run, const struct stretch *stretch, struct step_height *out);
/* The means of an earlier run's batches of the same ordinals; NAN beyond its end. */
void trace_earlier(const struct run *run, const struct stretch *stretch, const struct earlier *earlier, double *values,
	size_t columns);
/* Which ordinals of the main track it shows. */
void trace_ordinals(const struct run *run, const struct stretch *stretch, uint64_t *first, uint64_t *end);
/* The column of a batch; false if the stretch does not contain it. */
bool trace_column(const struct stretch *stretch, uint64_t ordinal, size_t columns, size_t *column);
/* The slowest batch in a column; false if it has none. */
bool trace_batch_at(
	const struct run *run, const struct stretch *stretch, size_t column, size_t columns, uint64_t *ordinal);
/* From the begin of the column's first batch to the end of its last; false if it has none. */
bool trace_times(const struct run *run, const struct stretch *stretch, size_t column, size_t columns, int64_t *from_ns,
	int64_t *to_ns);
/* Count, median, p95, max and flags of the steps shown. */
struct figures trace_figures(const struct run *run, const struct stretch *stretch);
uint64_t trace_flagged(const struct run *run, const struct stretch *stretch);

/* The first time that a plot over time shows: zoom 0 = five minutes; never before pmtop attached. */
int64_t trace_since(const struct scene *scene, int zoom);
bool trace_can_zoom_time(const struct scene *scene, int zoom, int step);
/* Handles the keys that zoom a plot over time: + = and -. */
bool trace_zoom_key(const struct scene *scene, struct key_event event);
/* Widens *min and *max (NAN at first) to the series' range since then. */
void trace_extremes(const struct scene *scene, const struct series *series, int64_t from_ns, double *min, double *max);
/* One point a column over [from_ns, now]. Neighbouring samples are joined across empty columns; a longer pause stays
 * a gap. */
void trace_series(const struct scene *scene, const struct series *series, int64_t from_ns, enum role role,
	struct plot_point *points, size_t columns);

#endif
