#include "ui/trace/tabs/overview_steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/text.h"
#include "ui/core/layout.h"
#include "ui/core/plot_axis.h"
#include "ui/trace/tabs/overview_gpu.h"
#include "ui/widgets/parts.h"

enum { LABEL = 7, TIME = 11, BUSY = 10, PLOT_ROWS_MIN = 4 };

static double mean_s(const struct profile_idle *idle)
{
	double sum = 0;
	for (uint32_t i = 0; i < idle->step_count; i++)
		sum += (double)idle->steps[i].duration_ns / 1e9;
	return idle->step_count ? sum / idle->step_count : NAN;
}

static double longest_s(const struct profile_idle *idle)
{
	int64_t most = 0;
	for (uint32_t i = 0; i < idle->step_count; i++)
		most = idle->steps[i].duration_ns > most ? idle->steps[i].duration_ns : most;
	return (double)most / 1e9;
}

static void draw_step(
	const struct profile_step *step, bool has_split, double longest, struct canvas *canvas, struct rect row)
{
	char number[NUMBER_SIZE];
	double time_s = (double)step->duration_ns / 1e9,
		   busy = step->busy_ns >= 0 && step->duration_ns > 0 ? (double)step->busy_ns / (double)step->duration_ns : NAN;
	struct rect bar = row;
	rect_take_left(&bar, LABEL + TIME + BUSY + 1);
	canvas_printf(canvas, row.x, row.y, LABEL - 1, ROLE_NORMAL, "#%" PRId64, step->number);
	canvas_text_right(
		canvas, row.x + LABEL, row.y, TIME - 2, ROLE_STRONG, parts_time(number, time_s, trace_time_like(longest)));
	canvas_text_right(canvas, row.x + LABEL + TIME, row.y, BUSY - 2, ROLE_NORMAL, format_percent(number, busy));
	if (!(longest > 0))
		return;
	bar.width = (int)lrint(time_s / longest * bar.width);
	if (isnan(busy))
		canvas_fill(canvas, bar, 0x2588, ROLE_PLOT);
	else
		overview_time_draw(canvas, bar, step->duration_ns, step->busy_ns, has_split ? step->idle_split_ns : NULL);
}

/* More steps than rows: their durations as a plot. */
static void draw_plot(const struct profile_idle *idle, struct canvas *canvas, struct rect rect)
{
	struct scale scale = { 0 };
	scale_update(&scale, 0, longest_s(idle), true);
	struct rect plot = plot_axis(canvas, rect, &scale, PLOT_SECONDS);
	size_t columns = plot_resolution(canvas, plot), count = idle->step_count < columns ? idle->step_count : columns;
	struct plot_point *points = calloc(count + 1, sizeof *points);
	for (size_t i = 0; points && i < count; i++) {
		double longest = 0;
		for (size_t k = i * idle->step_count / count; k < (i + 1) * idle->step_count / count; k++)
			longest = fmax(longest, (double)idle->steps[k].duration_ns / 1e9);
		points[i] = (struct plot_point){ 0, longest, ROLE_PLOT, false };
	}
	if (points)
		plot_points(canvas, plot, &scale, points, count, false);
	free(points);
}

void overview_steps_draw(const struct trace_scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct profile_idle *idle = &scene->analysis->idle;
	struct line about;
	char number[NUMBER_SIZE];
	line_start(&about, " · ");
	if (idle->step_count) {
		line_add(&about, 0, ROLE_NORMAL, "%s", format_grouped(number, idle->step_count));
		line_add(&about, 0, ROLE_STRONG, "mean %s", format_seconds(number, mean_s(idle)));
		line_add(&about, 1, ROLE_NORMAL,
			!idle->gpu_count          ? "time"
				: idle->gpu_count > 1 ? "time, GPUs busy"
									  : "time, GPU busy");
	}
	if (idle->steps_are_inferred)
		line_add(&about, 2, ROLE_NORMAL, "from one optimizer.step to the next");
	struct rect inside = parts_panel(canvas, rect, "Steps", &about, ROLE_TITLE);
	rect_take_left(&inside, 1);
	rect_take_right(&inside, 1);
	if (!idle->step_count)
		parts_wrap(canvas, inside, ROLE_DIM,
			scene->analysis->profile.has_categories
				? "The trace has no steps: profiler.step() after each batch, or two optimizer.step() calls, mark them."
				: "The trace has no steps: jax.profiler.StepTraceAnnotation or tf.profiler.experimental.Trace marks "
				  "them.");
	else if ((int)idle->step_count > inside.height && inside.height >= PLOT_ROWS_MIN)
		draw_plot(idle, canvas, inside);
	else
		for (int i = 0; i < inside.height && i < (int)idle->step_count; i++)
			draw_step(&idle->steps[i], idle->gpu_count && idle->gpus[0].has_split, longest_s(idle), canvas,
				rect_row(inside, i));
}
