#include "ui/views/gpu/gpu_plots.h"

#include <math.h>

#include "ui/core/layout.h"
#include "ui/core/plot.h"
#include "ui/core/plot_axis.h"
#include "ui/views/gpu/gpu_parts.h"
#include "ui/views/gpu/gpu_words.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/over_time.h"
#include "ui/widgets/plots/throttle_lane.h"
#include "ui/widgets/plots/trace.h"

#define SM_ROLE ROLE_PHASE_0

/* Throttle marks below a plot over time. */
static void draw_lane(
	const struct lane *lane, int64_t from_ns, int64_t now_ns, struct canvas *canvas, struct rect plot, struct rect row)
{
	struct lane_cell cells[LANE_CELLS_MAX];
	size_t count = plot.width < LANE_CELLS_MAX ? (size_t)plot.width : LANE_CELLS_MAX;
	for (size_t i = 0; i < count; i++) {
		cells[i].from_ns = from_ns + (now_ns - from_ns) * (int64_t)i / (int64_t)count;
		cells[i].to_ns = from_ns + (now_ns - from_ns) * (int64_t)(i + 1) / (int64_t)count;
	}
	row.x = plot.x;
	row.width = plot.width;
	lane_draw(lane, canvas, row, cells, count);
}

void gpu_plot_busy(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect, int zoom)
{
	static const struct scale full = { 0, 1, 0 };
	const struct lane lane = { 1, { gpu } };
	int64_t from_ns = trace_since(scene, zoom);
	double min = NAN, max = NAN;
	trace_extremes(scene, gpu->series.busy_ratio, from_ns, &min, &max);
	trace_extremes(scene, gpu->series.sm_active_ratio, from_ns, &min, &max);
	if (isnan(max)) {
		canvas_text(canvas, rect.x + 1, rect.y, rect.width - 1, ROLE_DIM, rect.height > 0 ? "no samples yet" : "");
		return;
	}
	struct rect row =
		rect_take_bottom(&rect, rect.height >= 4 && lane_share(&lane, from_ns, scene->now_ns) > 0 ? 1 : 0);
	struct rect plot = rect.height >= 3 ? plot_axis(canvas, rect, &full, PLOT_PERCENT) : rect;

	over_time_points(scene, canvas, plot, &full, gpu->series.sm_active_ratio, from_ns, SM_ROLE);
	over_time_points(scene, canvas, plot, &full, gpu->series.busy_ratio, from_ns, ROLE_PLOT);
	if (!isnan(gpu_now(gpu, METRIC_GPU_SM_ACTIVE)))
		over_time_legend(canvas, plot, "busy", ROLE_PLOT, "SMs active", SM_ROLE);
	if (row.height > 0)
		draw_lane(&lane, from_ns, scene->now_ns, canvas, plot, row);
}

static void panel_busy(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect)
{
	char text[NUMBER_SIZE];
	struct line line;
	line_start(&line, " · ");
	line_add(&line, 0, ROLE_PLOT, "busy %s", format_percent(text, gpu_now(gpu, METRIC_GPU_BUSY)));
	if (!isnan(gpu_now(gpu, METRIC_GPU_SM_ACTIVE)))
		line_add(&line, 0, SM_ROLE, "SMs active %s", format_percent(text, gpu_now(gpu, METRIC_GPU_SM_ACTIVE)));
	gpu_plot_busy(scene, gpu, canvas, parts_panel(canvas, rect, "Utilization", &line, ROLE_TITLE), scene->state->zoom);
}

/* A figure over time with an upper limit, and the text of its title. */
struct plotted {
	const char *title;
	enum plot_unit unit;
	int scale;
	double level;
	bool from_zero, has_lane;
	const char *upper, *lower; /* names of two lines; NULL: one line */
};

static void draw_panel(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect,
	const struct plotted *what, struct line *title, struct over_time *lines)
{
	const struct lane lane = { 1, { gpu } };
	lines->from_ns = trace_since(scene, scene->state->zoom);
	lines->unit = what->unit;
	lines->from_zero = what->from_zero;
	lines->level = what->level;
	struct rect inside = parts_panel(canvas, rect, what->title, title, ROLE_TITLE);
	struct rect row = rect_take_bottom(
		&inside, what->has_lane && inside.height >= 5 && lane_share(&lane, lines->from_ns, scene->now_ns) > 0 ? 1 : 0);
	struct scale *scale = &scene->state->scales[what->scale];
	struct rect plot = over_time_draw(scene, canvas, inside, scale, lines);

	if (plot.height > 0 && !isnan(what->level))
		plot_level(canvas, plot, scale, what->level, ROLE_MEDIAN);
	if (what->lower && !isnan(gpu->run_memory_bytes))
		over_time_legend(canvas, plot, what->upper, lines->lines[1].role, what->lower, lines->lines[0].role);
	if (plot.height > 0 && row.height > 0)
		draw_lane(&lane, lines->from_ns, scene->now_ns, canvas, plot, row);
}

static void panel_memory_used(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect)
{
	const struct plotted what = { "Memory", PLOT_BYTES, GPU_SCALE_MEMORY, NAN, false, false, "all", "the run" };
	struct over_time lines = { .count = 2,
		.lines = { { gpu->series.run_memory_bytes, ROLE_MEMORY }, { gpu->series.memory_used_bytes, ROLE_DIM } } };
	char text[NUMBER_SIZE];
	struct line line;
	line_start(&line, " · ");
	if (gpu->is_ours && !isnan(gpu->run_memory_bytes))
		line_add(&line, 0, ROLE_MEMORY, "the run %s", format_bytes(text, gpu->run_memory_bytes));
	line_add(&line, 1, ROLE_DIM, "all %s",
		gpu_bytes_of(text, gpu_now(gpu, METRIC_GPU_MEMORY_USED), gpu_now(gpu, METRIC_GPU_MEMORY)));
	draw_panel(scene, gpu, canvas, rect, &what, &line, &lines);
}

static void panel_power(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect)
{
	const struct plotted what = { "Power", PLOT_WATTS, GPU_SCALE_POWER, gpu_now(gpu, METRIC_GPU_POWER_LIMIT), true,
		false, NULL, NULL };
	struct over_time lines = { .count = 1, .lines = { { gpu->series.power_w, ROLE_PLOT } } };
	char text[NUMBER_SIZE];
	struct line line;
	line_start(&line, " · ");
	line_add(&line, 0, ROLE_NORMAL, "%s", gpu_watts(text, gpu->power_w));
	if (!isnan(what.level))
		line_add(&line, 1, ROLE_DIM, "dotted: limit %s", gpu_watts(text, what.level));
	draw_panel(scene, gpu, canvas, rect, &what, &line, &lines);
}

static void panel_clock(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect)
{
	const struct plotted what = { "Clock", PLOT_HERTZ, GPU_SCALE_CLOCK, gpu_now(gpu, METRIC_GPU_CLOCK_MAX), false, true,
		NULL, NULL };
	struct over_time lines = { .count = 1, .lines = { { gpu->series.clock_hz, ROLE_PLOT } } };
	char text[NUMBER_SIZE];
	struct line line;
	line_start(&line, " · ");
	line_add(&line, 0, ROLE_NORMAL, "%s", gpu_hertz(text, gpu_now(gpu, METRIC_GPU_CLOCK)));
	if (!isnan(what.level))
		line_add(&line, 1, ROLE_DIM, "dotted: max %s", gpu_hertz(text, what.level));
	draw_panel(scene, gpu, canvas, rect, &what, &line, &lines);
}

static void panel_heat(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect)
{
	double limit = gpu_now(gpu, METRIC_GPU_TEMPERATURE_LIMIT);
	const struct plotted what = { "Temperature", PLOT_CELSIUS, GPU_SCALE_HEAT, limit, false, false, NULL, NULL };
	struct over_time lines = { .count = 1, .lines = { { gpu->series.temperature_c, ROLE_PHASE_0 } } };
	char text[NUMBER_SIZE];
	struct line line;
	line_start(&line, " · ");
	line_add(&line, 0, ROLE_NORMAL, "%s", gpu_degrees(text, gpu_now(gpu, METRIC_GPU_TEMPERATURE)));
	if (!isnan(limit))
		line_add(&line, 1, ROLE_DIM, "dotted: throttles at %s", gpu_degrees(text, limit));
	draw_panel(scene, gpu, canvas, rect, &what, &line, &lines);
}

/* The most important first; figures that the driver does not report are omitted. */
static const struct {
	void (*draw)(struct scene *, const struct gpu *, struct canvas *, struct rect);
	enum metric metric;
} panels[] = {
	{ panel_busy, METRIC_GPU_BUSY },
	{ panel_memory_used, METRIC_GPU_MEMORY_USED },
	{ panel_power, METRIC_GPU_POWER_LIMIT },
	{ panel_clock, METRIC_GPU_CLOCK },
	{ panel_heat, METRIC_GPU_TEMPERATURE },
};
enum { PANELS = sizeof panels / sizeof panels[0], PLOT_ROWS = 6 };

void gpu_plots(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect, int columns)
{
	int frame = parts_panel_rows(canvas), deep = rect.height / (frame + PLOT_ROWS), count = 0, shown[PANELS], drawn = 0;
	deep = deep < 1 ? 1 : deep;
	for (int i = 0; i < PANELS && count < deep * columns; i++)
		if (i == 0 || !isnan(gpu_now(gpu, panels[i].metric)) || (panels[i].draw == panel_power && !isnan(gpu->power_w)))
			shown[count++] = i;
	deep = (count + columns - 1) / columns;
	for (int line = 0; line < deep; line++) {
		struct rect row = rect_take_top(&rect, rect.height / (deep - line));

		for (int column = 0; column < columns && drawn < count; column++) {
			int left = column + 1 < columns && drawn + 1 < count ? row.width / (columns - column) : row.width;

			panels[shown[drawn++]].draw(scene, gpu, canvas, rect_take_left(&row, left));
		}
	}
}
