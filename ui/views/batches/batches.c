/* Batches: every batch a stacked bar; flagged ones in a list; one explained. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/code/code_advice.h"
#include "src/model/run/steps/tracks.h"
#include "src/model/statistics/statistics.h"
#include "ui/core/layout.h"
#include "ui/core/plot_axis.h"
#include "ui/views/batches/flag_list.h"
#include "ui/views/batches/why.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/batch_focus.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/step_height.h"
#include "ui/widgets/plots/throttle_lane.h"

/* -- bars -- */

/* From near to far: the cells of a bar, and how many batches it represents (it shows the slowest). */
static const struct bar_level {
	int cells;
	uint64_t batches;
} bar_levels[] = {
	{ 4, 1 },
	{ 2, 1 },
	{ 1, 1 },
	{ 1, 2 },
	{ 1, 5 },
	{ 1, 10 },
	{ 1, 20 },
	{ 1, 50 },
	{ 1, 100 },
	{ 1, 200 },
};
enum { BAR_LEVELS = sizeof bar_levels / sizeof bar_levels[0], BAR_DEFAULT = 2 };

static const struct bar_level *bar_level(const struct view_state *state)
{
	int level = BAR_DEFAULT - state->zoom;
	return &bar_levels[level < 0 ? 0 : level >= BAR_LEVELS ? BAR_LEVELS - 1 : level];
}

struct bars {
	uint64_t first, end;
	int columns;
	const struct bar_level *level;
};

/* The newest bars, or those around the selected batch if it is older. */
static struct bars choose_bars(const struct scene *scene, const struct run *run, int width)
{
	struct bars bars = { .level = bar_level(scene->state) };
	uint64_t retained, end, group = bars.level->batches;
	bars.columns = width / bars.level->cells;
	batch_range(scene_track(scene, run), &retained, &end);
	uint64_t shown = (uint64_t)(bars.columns > 0 ? bars.columns : 1) * group, last = (end + group - 1) / group * group;

	bars.first = last > shown ? last - shown : 0;
	if (!scene->focus.at_live_end && scene->focus.batch < bars.first) {
		uint64_t middle = scene->focus.batch / group * group, half = shown / 2 / group * group;
		bars.first = middle > half ? middle - half : 0;
	}
	if (bars.first < retained)
		bars.first = retained / group * group;
	bars.end = bars.first + shown < end ? bars.first + shown : end;
	return bars;
}

/* The slowest batch of a group; flagged ones take precedence. */
static const struct batch *slowest(const struct track *track, uint64_t from, uint64_t to)
{
	const struct batch *found = NULL;
	for (uint64_t ordinal = from; ordinal < to; ordinal++) {
		const struct batch *batch = track_batch(track, ordinal);

		if (!batch || isnan(batch->step_s))
			continue;
		if (!found || batch->is_flagged > found->is_flagged ||
			(batch->is_flagged == found->is_flagged && batch->step_s > found->step_s))
			found = batch;
	}
	return found;
}

static size_t stack_of(const struct run *run, const struct batch *batch, struct stack_part parts[RUN_PHASES_MAX])
{
	size_t count = 0;
	for (unsigned i = 0; i < batch->phase_count; i++)
		if (batch->phases[i].parent == NAME_NONE)
			parts[count++] =
				(struct stack_part){ (double)batch->phases[i].seconds, phase_role(run, batch->phases[i].name) };
	if (count == 0)
		parts[count++] = (struct stack_part){ batch->step_s, ROLE_PHASE_7 };
	return count;
}

/* The batch that a bar shows: the selected one if it is in the group. */
static const struct batch *bar_batch(
	const struct scene *scene, const struct run *run, const struct bars *bars, int column, bool *holds_focus)
{
	uint64_t from = bars->first + (uint64_t)column * bars->level->batches, to = from + bars->level->batches;
	const struct batch *focused = batch_focused(scene, run);
	*holds_focus = focused && focused->ordinal >= from && focused->ordinal < to;
	const struct batch *batch =
		*holds_focus ? focused : slowest(scene_track(scene, run), from, to < bars->end ? to : bars->end);

	return batch && !isnan(batch->step_s) ? batch : NULL;
}

static void draw_bars(
	struct scene *scene, const struct run *run, const struct bars *bars, struct canvas *canvas, struct rect plot)
{
	const struct scale *scale = &scene->state->scales[SCALE_STEPS];
	for (int column = 0; column < bars->columns; column++) {
		bool holds_focus;
		const struct batch *batch = bar_batch(scene, run, bars, column, &holds_focus);
		struct stack_part parts[RUN_PHASES_MAX];

		if (!batch)
			continue;
		size_t count = stack_of(run, batch, parts);

		for (int cell = 0; cell < bars->level->cells - (bars->level->cells > 1); cell++)
			plot_stack(canvas, plot, plot.x + column * bars->level->cells + cell, scale, parts, count,
				batch->is_flagged && cell == 0, holds_focus && cell == 0);
	}
}

/* After all bars, because the labels need free cells. */
static void mark_cut(
	struct scene *scene, const struct run *run, const struct bars *bars, struct canvas *canvas, struct rect plot)
{
	const struct scale *scale = &scene->state->scales[SCALE_STEPS];
	for (int column = 0; column < bars->columns; column++) {
		bool holds_focus;
		const struct batch *batch = bar_batch(scene, run, bars, column, &holds_focus);

		if (batch && step_is_cut(scale, batch->step_s))
			step_mark_cut(canvas, plot, plot.x + column * bars->level->cells, 1, batch->step_s);
	}
}

/* Marks that the program published, above their batch. */
static bool draw_marks(
	const struct scene *scene, const struct run *run, const struct bars *bars, struct canvas *canvas, struct rect plot)
{
	uint64_t marked[RUN_MARKS_MAX];
	size_t count = batch_marks(run, scene_track(scene, run), bars->first, bars->end, marked);
	for (size_t i = 0; i < count; i++) {
		int x = plot.x + (int)((marked[i] - bars->first) / bars->level->batches) * bars->level->cells, y = plot.y;

		while (y < plot.y + plot.height - 1 && canvas->cells[y * canvas->width + x].code != ' ' &&
			canvas->cells[y * canvas->width + x].code != 0x2502)
			y++;
		canvas_put(canvas, x, y, 0x25c6, ROLE_ACCENT);
	}
	return count > 0;
}

static struct step_height height_of(const struct track *track, const struct bars *bars)
{
	struct step_height height = { .count = 0 };
	for (uint64_t ordinal = bars->first; ordinal < bars->end; ordinal++) {
		const struct batch *batch = track_batch(track, ordinal);

		if (batch)
			step_height_add(&height, batch->step_s, batch->is_warmup);
	}
	return height;
}

static double median_of_bars(const struct track *track, const struct bars *bars)
{
	double steps_s[4096];
	size_t count = 0;
	for (uint64_t ordinal = bars->first; ordinal < bars->end && count < sizeof steps_s / sizeof *steps_s; ordinal++) {
		const struct batch *batch = track_batch(track, ordinal);

		if (batch && !isnan(batch->step_s))
			steps_s[count++] = batch->step_s;
	}
	return count > 0 ? median_of(steps_s, count) : NAN;
}

static void draw_legend(
	const struct run *run, const struct track *track, bool has_marks, struct canvas *canvas, struct rect row)
{
	for (size_t i = 0; i < run->operation_count; i++) {
		const struct operation *operation = &run->operations[i];
		const char *name = run_name(run, operation->name);
		enum role role = phase_role(run, operation->name);

		if (operation->depth > 0 || !is_mode_of(run, operation->mode, track) || (int)text_cells(name) + 2 > row.width)
			continue;
		canvas_put(canvas, row.x, row.y, plot_sign(canvas, role), role);
		rect_take_left(&row, 2);
		rect_take_left(&row, canvas_text(canvas, row.x, row.y, row.width, ROLE_NORMAL, name) + 3);
	}
	if (has_marks && row.width >= 6) {
		canvas_put(canvas, row.x, row.y, 0x25c6, ROLE_ACCENT);
		canvas_text(canvas, row.x + 2, row.y, row.width - 2, ROLE_NORMAL, "mark");
	}
}

/* Overlays exist only for the main mode. */
static bool has_earlier(const struct scene *scene, const struct run *run)
{
	return scene->earlier && scene->earlier->is_shown && scene_track(scene, run) == run_main(run);
}

static double earlier_bar(const struct scene *scene, const struct bars *bars, int column)
{
	uint64_t from = bars->first + (uint64_t)column * bars->level->batches, to = from + bars->level->batches;
	return earlier_longest(scene->earlier, from, to < bars->end ? to : bars->end);
}

static struct step_height earlier_height(const struct scene *scene, const struct run *run, const struct bars *bars)
{
	struct step_height height = { .count = 0 };
	for (int column = 0; column < bars->columns && has_earlier(scene, run); column++)
		step_height_add(&height, earlier_bar(scene, bars, column), false);
	return height;
}

static void draw_earlier(const struct scene *scene, const struct bars *bars, struct canvas *canvas, struct rect plot)
{
	for (int column = 0; column < bars->columns; column++)
		earlier_mark(canvas, plot, plot.x + column * bars->level->cells, &scene->state->scales[SCALE_STEPS],
			earlier_bar(scene, bars, column));
}

static void bars_title(const struct scene *scene, const struct run *run, const struct bars *bars, struct line *line)
{
	const struct track *track = scene_track(scene, run);
	char words[LINE_PIECE_SIZE];
	const struct batch *first = track_batch(track, bars->first > track->first ? bars->first : track->first);
	const struct batch *last = bars->end > 0 ? track_batch(track, bars->end - 1) : NULL;
	char from[BATCH_WORDS_SIZE], to[BATCH_WORDS_SIZE], text[NUMBER_SIZE], epoch[RUN_EPOCH_NAME_SIZE];

	line_start(line, " · ");
	if (first && last && first->epoch_ordinal == last->epoch_ordinal)
		line_add(line, 1, ROLE_NORMAL, "epoch %s: batches %llu … %llu",
			run_epoch_name(run, first->epoch_ordinal, epoch), (unsigned long long)first->index,
			(unsigned long long)last->index);
	else if (first && last)
		line_add(
			line, 1, ROLE_NORMAL, "%s … %s", parts_batch_words(from, run, first), parts_batch_words(to, run, last));
	if (bars->level->batches > 1)
		line_add(line, 2, ROLE_NORMAL, "each bar: slowest of %llu", (unsigned long long)bars->level->batches);
	line_add(line, 0, ROLE_FLAG, "▲ %s flagged", parts_thousands(text, (double)track->flagged_count));
	if (has_earlier(scene, run) &&
		earlier_words(scene->earlier, bars->first, bars->end, median_of_bars(track, bars), words, sizeof words)[0] !=
			'\0')
		line_add(line, 0, ROLE_EARLIER, "%s", words);
}

/* The times of a bar's batches; each of its cells shows them all. */
static void bar_times(const struct track *track, const struct bars *bars, struct lane_cell *cells, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t from = bars->first + i / (size_t)bars->level->cells * bars->level->batches,
				 to = from + bars->level->batches;

		cells[i] = (struct lane_cell){ 0, 0 };
		for (uint64_t ordinal = from; ordinal < to && ordinal < bars->end; ordinal++) {
			const struct batch *batch = track_batch(track, ordinal);

			if (!batch || batch->end_ns == 0)
				continue;
			cells[i].from_ns = cells[i].to_ns > 0 ? cells[i].from_ns : batch->begin_ns;
			cells[i].to_ns = batch->end_ns;
		}
	}
}

static bool has_lane(const struct track *track, const struct bars *bars, const struct lane *lane)
{
	const struct batch *first = track_batch(track, bars->first > track->first ? bars->first : track->first);
	const struct batch *last = bars->end > 0 ? track_batch(track, bars->end - 1) : NULL;
	return lane->count > 0 && first && last &&
		lane_share(lane, first->begin_ns, last->end_ns > 0 ? last->end_ns : last->begin_ns) > 0;
}

static void draw_lane(const struct scene *scene, const struct run *run, const struct bars *bars,
	const struct lane *lane, struct canvas *canvas, struct rect row)
{
	struct lane_cell cells[LANE_CELLS_MAX];
	size_t count = (size_t)bars->columns * (size_t)bars->level->cells;
	count = count < LANE_CELLS_MAX ? count : LANE_CELLS_MAX;
	bar_times(scene_track(scene, run), bars, cells, count);
	row.x = scene->state->plot.x;
	row.width = scene->state->plot.width;
	lane_draw(lane, canvas, row, cells, count);
}

/* The selected batch as text, under the bars. */
static void draw_focus_line(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect row)
{
	const struct batch *batch = batch_focused(scene, run);
	const struct track *track = scene_track(scene, run);
	double like = track->step.p50_s;
	char words[BATCH_WORDS_SIZE], text[NUMBER_SIZE], kind[BATCH_KIND_SIZE];
	struct line line;
	if (!batch)
		return;
	line_start(&line, " · ");
	line_add(&line, 0, batch->is_flagged ? ROLE_FLAG : ROLE_STRONG, "%s %s", batch->is_flagged ? "▲" : "▼",
		parts_batch_words(words, run, batch));
	line_add(&line, 0, ROLE_NORMAL, "%s", parts_time(text, batch->step_s, like));
	if (batch_kind(kind, run, track, batch)[0] != '\0')
		line_add(&line, 1, ROLE_NORMAL, "%s", kind);
	for (unsigned i = 0; i < batch->phase_count; i++)
		if (batch->phases[i].parent == NAME_NONE && line.count < 9)
			line_add(&line, 3, ROLE_DIM, "%s %s", run_name(run, batch->phases[i].name),
				parts_time_bare(text, (double)batch->phases[i].seconds, like, false));
	if (!isnan(batch->loss))
		line_add(&line, 2, ROLE_DIM, "loss %s", parts_loss(text, batch->loss));
	line_add(&line, 1, ROLE_DIM, scene->focus.at_live_end ? "newest" : "Esc newest");
	line_draw(&line, canvas, row.x, row.y, row.width);
}

static void panel_bars(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	struct scale *scale = &scene->state->scales[SCALE_STEPS];
	const struct track *track = scene_track(scene, run);
	struct rect measure = rect;
	char title[64] = "Batches";
	struct line line;
	rect_take_left(&measure, parts_is_roomy(canvas) ? 10 : 8);
	struct bars bars = choose_bars(scene, run, measure.width);

	bars_title(scene, run, &bars, &line);
	if (run->track_count > 1)
		snprintf(title, sizeof title, "Batches, %.50s", run_name(run, track->mode));
	struct rect inside = parts_panel(canvas, rect, title, &line, ROLE_TITLE);
	struct rect legend = rect_take_top(&inside, inside.height >= 5 ? 1 : 0),
				focus = rect_take_bottom(&inside, inside.height >= 4 ? 1 : 0);
	struct step_height height = height_of(track, &bars), earlier = earlier_height(scene, run, &bars);
	bool has_marks;

	rect_take_left(&legend, 1);
	rect_take_left(&focus, 1);
	scene->state->plot = (struct rect){ 0, 0, 0, 0 };
	if (isnan(step_height_reach(&height))) {
		canvas_text(canvas, inside.x + 1, inside.y, inside.width - 1, ROLE_DIM, code_why_no_batch(scene->model));
		return;
	}
	struct lane lane;

	lane_of_run(scene, run, &lane);
	struct rect held = rect_take_bottom(&inside, inside.height >= 6 && has_lane(track, &bars, &lane) ? 1 : 0);

	step_height_scale(scale, &height, &earlier);
	scene->state->plot = plot_axis(canvas, inside, scale, PLOT_SECONDS);
	bars = choose_bars(scene, run, scene->state->plot.width);
	scene->state->plot_columns = (size_t)(bars.columns > 0 ? bars.columns : 1);
	draw_bars(scene, run, &bars, canvas, scene->state->plot);
	mark_cut(scene, run, &bars, canvas, scene->state->plot);
	if (has_earlier(scene, run))
		draw_earlier(scene, &bars, canvas, scene->state->plot);
	has_marks = draw_marks(scene, run, &bars, canvas, scene->state->plot);
	if (held.height > 0)
		draw_lane(scene, run, &bars, &lane, canvas, held);
	if (legend.height > 0)
		draw_legend(run, track, has_marks, canvas, legend);
	if (focus.height > 0)
		draw_focus_line(scene, run, canvas, focus);
}

/* -- the whole -- */

enum { LIST_WIDTH = 50, WHY_MIN = 62 };

static void draw_lower(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	const struct batch *focused = batch_focused(scene, run);
	if (!scene->focus.is_open || !focused) {
		flag_list_draw(scene, run, canvas, rect);
		return;
	}
	if (rect.width >= LIST_WIDTH + WHY_MIN)
		flag_list_draw(scene, run, canvas, rect_take_left(&rect, rect.width >= 160 ? rect.width * 2 / 5 : LIST_WIDTH));
	panel_why(scene, run, focused->ordinal, canvas, rect);
}

static void draw_no_steps(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	char why[512], text[576];
	code_write_no_steps(scene->model, ' ', why, sizeof why);
	snprintf(text, sizeof text, "%s\n[1] Overview shows the figures of the process.", why);
	parts_note(canvas, rect, "No steps yet", text);
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct run *run = scene_run(scene);
	struct rect upper;
	scene->state->plot = scene->state->list = (struct rect){ 0, 0, 0, 0 };
	if (!run) {
		draw_no_steps(scene, canvas, rect);
		return;
	}
	upper = rect_take_top(&rect,
		rect.height < 12           ? rect.height
			: scene->focus.is_open ? rect.height / 3
								   : rect.height * 11 / 20);
	panel_bars(scene, run, canvas, upper);
	if (rect.height > 0)
		draw_lower(scene, run, canvas, rect);
}

static bool zoom(struct view_state *state, int step)
{
	int level = BAR_DEFAULT - state->zoom - step;
	if (level >= 0 && level < BAR_LEVELS)
		state->zoom += step;
	return true;
}

static bool click_bar(struct scene *scene, const struct run *run, struct key_event event)
{
	struct rect plot = scene->state->plot;
	if (!rect_has(plot, event.x, event.y))
		return false;
	struct bars bars = choose_bars(scene, run, plot.width);
	uint64_t from = bars.first + (uint64_t)((event.x - plot.x) / bars.level->cells) * bars.level->batches;
	const struct batch *batch = slowest(scene_track(scene, run), from, from + bars.level->batches);

	if (batch)
		batch_focus(scene, batch->ordinal);
	return true;
}

static bool key(struct scene *scene, struct key_event event, struct rect rect)
{
	const struct run *run = scene_run(scene);
	(void)rect;
	if (!run)
		return false;
	switch (event.key) {
	case '+':
	case '=': return zoom(scene->state, 1);
	case '-': return zoom(scene->state, -1);
	case 'm':
		batch_next_mode(scene, run);
		scene->state->scales[SCALE_STEPS] = (struct scale){ 0, 0, 0 };
		return true;
	case KEY_RETURN: scene->focus.is_open = !scene->focus.is_open; return true;
	case KEY_CLICK: return click_bar(scene, run, event) || flag_list_key(scene, run, event);
	default: return batch_key(scene, run, event) || flag_list_key(scene, run, event);
	}
}

static void write(const struct scene *scene, struct buffer *out)
{
	const struct run *run = scene_run(scene);
	uint64_t first, end;
	if (!run)
		return;
	batch_range(scene_track(scene, run), &first, &end);
	batch_write(scene, first, end, out);
}

const struct view batches_view = {
	.name = "Batches",
	.short_name = "Batch",
	.digit = '2',
	.keys = "Esc back  ←→ batch  n/N next flagged  Enter why  f flag/unflag  m train/validation  +/- zoom  / search  ? "
			"help",
	.keys_short = "Esc back  ←→ batch  n/N next flagged  Enter why  f (un)flag  +/- zoom  ? help",
	.can_search = true,
	.draw = draw,
	.key = key,
	.write = write,
};
