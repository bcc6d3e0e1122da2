#include "ui/widgets/over_time.h"

#include <math.h>

#include "ui/widgets/trace.h"

void over_time_points(struct scene *scene, struct canvas *canvas, struct rect rect, const struct scale *scale,
	const struct series *series, int64_t from_ns, enum role role)
{
	struct plot_point points[TRACE_POINTS_MAX];
	size_t columns = plot_resolution(canvas, rect);
	columns = columns > TRACE_POINTS_MAX ? TRACE_POINTS_MAX : columns;
	trace_series(scene, series, from_ns, role, points, columns);
	plot_points(canvas, rect, scale, points, columns, true);
}

struct rect over_time_draw(
	struct scene *scene, struct canvas *canvas, struct rect rect, struct scale *scale, const struct over_time *what)
{
	double min = NAN, max = NAN;
	for (size_t i = 0; i < what->count; i++)
		trace_extremes(scene, what->lines[i].series, what->from_ns, &min, &max);
	if (isnan(max)) {
		canvas_text(canvas, rect.x + 1, rect.y, rect.width - 1, ROLE_DIM, rect.height > 0 ? "no figures yet" : "");
		return (struct rect){ rect.x, rect.y, 0, 0 };
	}
	min = what->level < min ? what->level : min;
	max = what->level > max ? what->level : max;
	/* what hardly moves is drawn as what hardly moves */
	if (max - min < fabs(max) / 20)
		min = max - fabs(max) / 20;
	/* nothing at all: as much as one would look for, not one byte */
	static const double looked_for[] = {
		[PLOT_BYTES] = 1e6, [PLOT_HERTZ] = 1e9, [PLOT_CPUS] = 1e9, [PLOT_WATTS] = 10, [PLOT_COUNT] = 1
	};

	if (max <= 0 && min >= 0 && what->unit < sizeof looked_for / sizeof looked_for[0])
		max = looked_for[what->unit];
	scale_update(scale, min, max, what->from_zero);
	struct rect plot = plot_axis(canvas, rect, scale, what->unit);

	for (size_t i = what->count; i-- > 0;)
		over_time_points(scene, canvas, plot, scale, what->lines[i].series, what->from_ns, what->lines[i].role);
	return plot;
}
