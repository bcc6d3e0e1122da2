#include "ui/widgets/plots/over_time.h"

#include <math.h>

#include "ui/core/layout.h"
#include "ui/core/line.h"
#include "ui/core/plot_axis.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/trace.h"

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
		canvas_text(canvas, rect.x + 1, rect.y, rect.width - 1, ROLE_DIM, rect.height > 0 ? "no samples yet" : "");
		return (struct rect){ rect.x, rect.y, 0, 0 };
	}
	min = what->level < min ? what->level : min;
	max = what->level > max ? what->level : max;
	/* small changes must look small */
	if (max - min < fabs(max) / 20)
		min = max - fabs(max) / 20;
	/* for a series of zeros: a range that is worth reading, not one byte */
	static const double zero_range[] = {
		[PLOT_BYTES] = 1e6, [PLOT_HERTZ] = 1e9, [PLOT_CPUS] = 1e9, [PLOT_WATTS] = 10, [PLOT_COUNT] = 1
	};

	if (max <= 0 && min >= 0 && what->unit < sizeof zero_range / sizeof zero_range[0])
		max = zero_range[what->unit];
	scale_update(scale, min, max, what->from_zero);
	struct rect plot = plot_axis(canvas, rect, scale, what->unit);

	for (size_t i = what->count; i-- > 0;)
		over_time_points(scene, canvas, plot, scale, what->lines[i].series, what->from_ns, what->lines[i].role);
	return plot;
}

static bool is_blank(const struct canvas *canvas, struct rect row)
{
	for (int x = row.x; x < row.x + row.width; x++)
		if (!rect_has((struct rect){ 0, 0, canvas->width, canvas->height }, x, row.y) ||
			canvas->cells[row.y * canvas->width + x].code != ' ')
			return false;
	return true;
}

void over_time_legend(struct canvas *canvas, struct rect plot, const char *upper, enum role upper_role,
	const char *lower, enum role lower_role)
{
	struct line line;
	line_start(&line, " · ");
	line_add(&line, 0, upper_role, "upper: %s", upper);
	line_add(&line, 0, lower_role, "lower: %s", lower);
	int cells = line_fit(&line, plot.width);

	if (line.count < 2)
		return;
	for (int y = plot.y; y < plot.y + plot.height; y++) {
		struct rect row = { plot.x + plot.width - cells, y, cells, 1 };

		if (is_blank(canvas, row)) {
			line_draw(&line, canvas, row.x, row.y, cells);
			return;
		}
	}
}

void over_time_write(const struct scene *scene, const struct series *const series[], size_t count, size_t rows,
	const char *cells, struct buffer *out)
{
	int64_t from_ns = trace_since(scene, scene->state->zoom), width_ns = (scene->now_ns - from_ns) / (int64_t)rows;
	struct series_column columns[OVER_TIME_SERIES_MAX][OVER_TIME_ROWS_MAX];
	for (size_t i = 0; i < count && width_ns > 0; i++)
		series_columns(series[i], from_ns, scene->now_ns + 1, columns[i], rows);
	for (size_t row = 0; row < rows && width_ns > 0; row++) {
		bool has = false;

		for (size_t i = 0; i < count; i++)
			has |= columns[i][row].has;
		if (!has)
			continue;
		parts_csv_time(out, true, scene, from_ns + (int64_t)row * width_ns);
		buffer_puts(out, cells);
		for (size_t i = 0; i < count; i++)
			parts_csv_number(out, false, columns[i][row].has ? columns[i][row].last : NAN);
		buffer_puts(out, "\n");
	}
}
