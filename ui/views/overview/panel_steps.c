#include <math.h>

#include "src/base/clock.h"
#include "src/explain/causes/causes_words.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/model/code/code_advice.h"
#include "src/model/run/steps/flagged.h"
#include "src/model/run/steps/tracks.h"
#include "ui/core/layout.h"
#include "ui/core/plot_axis.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/batch_focus.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/step_height.h"
#include "ui/widgets/plots/throttle_lane.h"
#include "ui/widgets/plots/trace.h"

/* -- step times -- */

/* With gradient accumulation an optimizer step spans several batches. */
static void add_accumulation(const struct run *run, struct line *line)
{
	const struct counter *steps = run_counter(run, "optimizer.steps");
	unsigned accumulation = run_accumulation(run);
	char text[NUMBER_SIZE];
	if (accumulation == 0)
		return;
	if (steps && !isnan(steps->rate_per_s))
		line_add(line, 1, ROLE_NORMAL, "accumulation %u · %s optimizer steps/s", accumulation,
			format_rate(text, steps->rate_per_s));
	else
		line_add(line, 1, ROLE_NORMAL, "accumulation %u", accumulation);
}

/* The overlay's median of the same batches. */
static void add_earlier(
	const struct scene *scene, const struct run *run, const struct stretch *stretch, double now_s, struct line *line)
{
	char words[LINE_PIECE_SIZE];
	uint64_t first, end;
	trace_ordinals(run, stretch, &first, &end);
	if (earlier_words(scene->earlier, first, end, now_s, words, sizeof words)[0] != '\0')
		line_add(line, 1, ROLE_EARLIER, "%s", words);
}

static void stretch_title(
	const struct scene *scene, const struct run *run, const struct stretch *stretch, struct line *line)
{
	struct figures figures = trace_figures(run, stretch);
	unsigned long long flagged = (unsigned long long)trace_flagged(run, stretch);
	double like = run_main(run)->step.p50_s;
	char text[NUMBER_SIZE];
	line_start(line, " · ");
	if (stretch->count == 0)
		return;
	if (stretch->is_whole && isnan(run_main(run)->step.total_s))
		line_add(line, 2, ROLE_NORMAL, "%s batches since attach",
			parts_batches(text, scene, run_inferred(run).is_at_least, (double)run_main(run)->judged.count));
	else if (stretch->is_whole)
		line_add(line, 2, ROLE_NORMAL, "all %s batches",
			parts_batches(text, scene, run_inferred(run).is_at_least, (double)run_main(run)->count));
	else
		line_add(line, 2, ROLE_NORMAL, "last %llu batches", (unsigned long long)stretch->count);
	line_add(line, 0, ROLE_NORMAL, "median %s", parts_time(text, figures.p50_s, like));
	add_earlier(scene, run, stretch, figures.p50_s, line);
	if (stretch->is_binned && run->track_count > 1)
		line_add(line, 1, ROLE_NORMAL, "plot shows all modes");
	line_add(line, 3, ROLE_NORMAL, "p95 %s", parts_time_bare(text, figures.p95_s, like, false));
	line_add(line, 3, ROLE_NORMAL, "max %s", parts_time_bare(text, figures.max_s, like, false));
	line_add(line, 1, ROLE_FLAG, "▲ %llu flagged", flagged);
	add_accumulation(run, line);
	if (run_meta(run, "micro_batches"))
		line_add(line, 1, ROLE_NORMAL, "%s micro-batches a step", run_meta(run, "micro_batches"));
}

/* The selected batch, in place of the figures. */
static void focus_title(const struct scene *scene, const struct run *run, const struct batch *batch, struct line *line)
{
	struct explanation room;
	const struct explanation *why = explain_any(scene->model, run, run_main(run), batch, &room);
	double like = run_main(run)->step.p50_s;
	char name[BATCH_WORDS_SIZE], text[NUMBER_SIZE], cause[CAUSE_BRIEF_SIZE];
	line_start(line, " · ");
	line_add(line, 0, batch->is_flagged ? ROLE_FLAG : ROLE_STRONG, "%s%s", batch->is_flagged ? "▲ " : "",
		parts_batch_words(name, run, batch));
	line_add(line, 0, ROLE_NORMAL, "%s", parts_time(text, batch_pace_s(batch), like));
	if (!isnan(why->ratio))
		line_add(line, 1, ROLE_NORMAL, "%.1f× the median", why->ratio);
	if (why->cause_count > 0 && batch->is_flagged)
		line_add(line, 2, ROLE_NORMAL, "%s %s s", cause_brief(run, &why->causes[0], cause),
			parts_time_bare(text, why->causes[0].excess_s, 1, true));
	line_add(line, 3, ROLE_KEY, "Enter why");
}

static void draw_cursor(struct canvas *canvas, struct rect plot, int x)
{
	for (int y = plot.y; y < plot.y + plot.height; y++)
		if (rect_has((struct rect){ 0, 0, canvas->width, canvas->height }, x, y) &&
			canvas->cells[y * canvas->width + x].code == ' ')
			canvas_put(canvas, x, y, 0x2502, ROLE_ACCENT);
}

/* Marks that the program published, on the axis below their batch. */
static void draw_marks(
	const struct run *run, const struct stretch *stretch, struct canvas *canvas, struct rect plot, size_t columns)
{
	uint64_t marked[RUN_MARKS_MAX];
	size_t count = stretch->is_binned ? 0 : batch_marks(run, run_main(run), stretch->first, stretch->end, marked),
		   column;
	for (size_t i = 0; i < count; i++)
		if (trace_column(stretch, marked[i], columns, &column))
			canvas_put(canvas, plot.x + (int)(column * (size_t)plot.width / columns), plot.y + plot.height - 1, 0x25c6,
				ROLE_ACCENT);
}

/* The longest step of the points in one cell. */
static double longest_in(const struct plot_point *points, size_t columns, size_t across, size_t cell)
{
	double step_s = NAN;
	for (size_t i = cell * across; i < (cell + 1) * across && i < columns; i++)
		step_s = fmax(step_s, points[i].high);
	return step_s;
}

/* A batch wider than a cell is marked once. */
static void mark_cut(
	struct canvas *canvas, struct rect plot, const struct scale *scale, const struct plot_point *points, size_t columns)
{
	size_t cells = plot.width > 0 ? (size_t)plot.width : 0, across = cells > 0 && columns > cells ? columns / cells : 1,
		   width;
	for (size_t i = 0; i < cells; i += width) {
		double step_s = longest_in(points, columns, across, i);

		width = 1;
		if (!step_is_cut(scale, step_s))
			continue;
		while (i + width < cells && fabs(longest_in(points, columns, across, i + width) - step_s) <= 0)
			width++;
		step_mark_cut(canvas, plot, plot.x + (int)i, (int)width, step_s);
	}
}

static void draw_steps(struct scene *scene, const struct run *run, const struct stretch *stretch, struct canvas *canvas,
	struct rect inside)
{
	struct plot_point points[TRACE_POINTS_MAX];
	struct scale *scale = &scene->state->scales[SCALE_STEPS];
	struct figures figures = trace_figures(run, stretch);
	size_t columns, column;
	if (isnan(figures.max_s))
		return;
	bool has_earlier = scene->earlier && scene->earlier->count > 0;
	struct step_height height, earlier_height = { .count = 0 };
	double earlier[TRACE_POINTS_MAX];

	trace_height(run, stretch, &height);
	if (has_earlier)
		trace_earlier(run, stretch, scene->earlier, earlier, TRACE_POINTS_MAX);
	for (size_t i = 0; i < TRACE_POINTS_MAX && has_earlier; i++)
		step_height_add(&earlier_height, earlier[i], false);
	if (!step_height_scale(scale, &height, &earlier_height))
		return;
	struct rect plot = plot_axis(canvas, inside, scale, PLOT_SECONDS);

	columns = plot_resolution(canvas, plot);
	columns = columns > TRACE_POINTS_MAX ? TRACE_POINTS_MAX : columns;
	trace_steps(run, stretch, points, columns);
	plot_points(canvas, plot, scale, points, columns, true);
	if (has_earlier) {
		trace_earlier(run, stretch, scene->earlier, earlier, columns);
		earlier_plot(canvas, plot, scale, earlier, columns);
	}
	plot_level(canvas, plot, scale, figures.p50_s, ROLE_MEDIAN);
	plot_band(canvas, plot, scale, figures.p50_s, figures.p95_s, ROLE_BAND);
	mark_cut(canvas, plot, scale, points, columns);
	scene->state->plot = plot;
	scene->state->plot_columns = columns;
	draw_marks(run, stretch, canvas, plot, columns);
	if (scene_has_focus(scene, run, run_main(run)) && trace_column(stretch, scene->focus.batch, columns, &column))
		draw_cursor(canvas, plot, plot.x + (int)(column * (size_t)plot.width / columns));
}

/* -- where the GPU was throttled, below the plot -- */

enum { LANE_WITHIN = 6 };

/* Two points of the plot can share a cell. */
static void draw_lane(const struct scene *scene, const struct run *run, const struct stretch *stretch,
	const struct lane *lane, struct canvas *canvas, struct rect row)
{
	size_t points = scene->state->plot_columns, count = (size_t)scene->state->plot.width;
	struct lane_cell cells[LANE_CELLS_MAX];
	count = count < LANE_CELLS_MAX ? count : LANE_CELLS_MAX;
	for (size_t i = 0; i < count; i++) {
		struct lane_cell part;

		cells[i] = (struct lane_cell){ 0, 0 };
		for (size_t point = i * points / count; point < (i + 1) * points / count; point++) {
			if (!trace_times(run, stretch, point, points, &part.from_ns, &part.to_ns))
				continue;
			cells[i].from_ns = cells[i].to_ns > 0 ? cells[i].from_ns : part.from_ns;
			cells[i].to_ns = part.to_ns;
		}
	}
	row.x = scene->state->plot.x;
	row.width = scene->state->plot.width;
	lane_draw(lane, canvas, row, cells, count);
}

/* -- what slow batches have in common, below the plot -- */

/* The selected flagged batch, else the newest. */
static const struct flagged *flagged_to_show(const struct scene *scene, const struct run *run)
{
	bool has_focus = scene_has_focus(scene, run, run_main(run));
	const struct flagged *newest = NULL;
	for (size_t i = run->flagged_count; i-- > 0;) {
		const struct flagged *flagged = &run->flagged[i];

		if (!is_mode_of(run, flagged->mode, run_main(run)))
			continue;
		if (!has_focus || flagged->batch.ordinal == scene->focus.batch)
			return flagged;
		newest = newest ? newest : flagged;
	}
	return newest;
}

static void show_batch(const struct run *run, const struct flagged *flagged, struct line *line)
{
	const struct batch *batch = &flagged->batch;
	double like = run_main(run)->step.p50_s;
	char name[BATCH_WORDS_SIZE], text[NUMBER_SIZE];
	const struct explanation *why = flagged_explanation(flagged);
	line_add(line, 0, ROLE_FLAG, "▲ %s", parts_batch_words(name, run, batch));
	if (isnan(why->ratio))
		line_add(line, 0, ROLE_NORMAL, "%s", parts_time(text, batch_pace_s(batch), like));
	else
		line_add(line, 0, ROLE_NORMAL, "%.1f× the median", why->ratio);
	if (why->cause_count > 0 && why->causes[0].kind != CAUSE_UNKNOWN)
		line_add(line, 0, ROLE_NORMAL, "%s %s s", why->causes[0].what,
			parts_time_bare(text, why->causes[0].excess_s, 1, true));
	else
		line_add(line, 0, ROLE_NORMAL, "cause unknown");
	if (why->cause_count > 0 && why->causes[0].next[0] != '\0')
		line_add(line, 2, ROLE_ACCENT, "→ %s", why->causes[0].next);
}

/* The strongest pattern, or the newest slow batch with its cause. False: neither. */
static bool show_slow(const struct scene *scene, const struct run *run, struct line *line)
{
	const struct patterns *patterns = alerts_patterns(scene->alerts, (unsigned)(run - scene->model->runs));
	const struct pattern *pattern = patterns && patterns->count > 0 ? &patterns->list[0] : NULL;
	const struct flagged *flagged = flagged_to_show(scene, run);
	char words[LINE_PIECE_SIZE];
	line_start(line, " · ");
	if (pattern && pattern_words(pattern, run, words, sizeof words)[0] != '\0') {
		line_add(line, 0, ROLE_FLAG, "▲ %s", words);
		if (pattern->candidate[0] != '\0')
			line_add(line, 1, ROLE_NORMAL, "matches %s", pattern->candidate);
	} else if (flagged) {
		show_batch(run, flagged, line);
	}
	return line->count > 0;
}

/* With at least this many rows the text has its own row; with fewer it uses free cells of the plot's lowest row. */
enum { SHOWN_BELOW = 8, SHOWN_WITHIN = 5 };

static void draw_shown(struct line *shown, struct canvas *canvas, struct rect row)
{
	int cells = line_fit(shown, row.width);
	for (int x = row.x; x < row.x + cells; x++)
		if (!rect_has((struct rect){ 0, 0, canvas->width, canvas->height }, x, row.y) ||
			canvas->cells[row.y * canvas->width + x].code != ' ')
			return;
	line_draw(shown, canvas, row.x, row.y, row.width);
}

static struct step_words *step_words(struct scene *scene, const struct run *run, const struct stretch *stretch)
{
	const struct batch *focused =
		scene_has_focus(scene, run, run_main(run)) ? track_batch(run_main(run), scene->focus.batch) : NULL;
	struct step_words *words = &scene->step_words;
	if (panes_is_fresh(&scene->panes, words->made_ns))
		return words;
	words->made_ns = scene->panes.now_ns;
	if (focused)
		focus_title(scene, run, focused, &words->title);
	else
		stretch_title(scene, run, stretch, &words->title);
	words->is_shown = stretch->count > 0 && show_slow(scene, run, &words->shown);
	return words;
}

void panel_steps(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	struct stretch stretch;
	trace_stretch(scene, run, &stretch);
	struct step_words *words = step_words(scene, run, &stretch);
	struct rect inside = parts_panel(canvas, rect, "Step time", &words->title, ROLE_TITLE);

	scene->state->plot = (struct rect){ 0, 0, 0, 0 };
	bool is_shown = inside.height >= SHOWN_WITHIN && words->is_shown;
	struct rect below = rect_take_bottom(&inside, is_shown && inside.height >= SHOWN_BELOW ? 1 : 0);
	struct lane lane;

	lane_of_run(scene, run, &lane);
	bool has_lane =
		inside.height >= LANE_WITHIN && lane.count > 0 && lane_share(&lane, stretch.from_ns, stretch.to_ns) > 0;
	struct rect row = rect_take_bottom(&inside, has_lane ? 1 : 0);

	if (stretch.count > 0)
		draw_steps(scene, run, &stretch, canvas, inside);
	else
		canvas_text(canvas, inside.x + 1, inside.y, inside.width - 1, ROLE_DIM, code_why_no_batch(scene->model));
	if (has_lane && scene->state->plot.width > 0)
		draw_lane(scene, run, &stretch, &lane, canvas, row);
	if (is_shown && below.height > 0)
		draw_shown(&words->shown, canvas, (struct rect){ below.x + 1, below.y, below.width - 1, 1 });
	else if (is_shown && scene->state->plot.height > 0)
		draw_shown(&words->shown, canvas, rect_row(scene->state->plot, -1));
}
