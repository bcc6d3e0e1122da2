#include "ui/views/batches/flag_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/explain/causes/causes_words.h"
#include "src/explain/explain.h"
#include "src/model/run/steps/flagged.h"
#include "ui/core/layout.h"
#include "ui/views/overview/panel_patterns.h"
#include "ui/widgets/batch_focus.h"
#include "ui/widgets/parts.h"

enum { SORT_BATCH, SORT_TIME, SORT_RATIO, SORT_CAUSE, SORTS };
static const char *const sort_names[SORTS] = { "newest", "time", "ratio", "cause" };

struct listed {
	const struct flagged *flagged;
	double key;
};

static double ratio_of(const struct flagged *flagged)
{
	return flagged->baseline.step_s > 0 ? batch_pace_s(&flagged->batch) / flagged->baseline.step_s : NAN;
}

/* Largest first in every column: causes by the phase that explains most, then by its share. */
static double sort_key(const struct flagged *flagged, int column)
{
	const struct explanation *why = flagged_explanation(flagged);
	switch (column) {
	case SORT_TIME: return batch_pace_s(&flagged->batch);
	case SORT_RATIO: return ratio_of(flagged);
	case SORT_CAUSE:
		return why->cause_count > 0 ? why->causes[0].share_ratio / 2 - (double)why->causes[0].phase : -INFINITY;
	default: return (double)flagged->batch.ordinal;
	}
}

static int largest_first(const void *left, const void *right)
{
	const struct listed *a = left, *b = right;
	if (a->key != b->key)
		return a->key < b->key ? 1 : -1;
	return a->flagged->batch.ordinal < b->flagged->batch.ordinal ? 1 : -1;
}

static size_t sorted(const struct scene *scene, const struct run *run, struct listed list[RUN_FLAGGED_MAX])
{
	const struct view_state *state = scene->state;
	const struct flagged *flagged[RUN_FLAGGED_MAX];
	size_t count = batch_flagged(run, scene_track(scene, run), flagged);
	for (size_t i = 0; i < count; i++) {
		double key = sort_key(flagged[i], state->sort);

		list[i] = (struct listed){ flagged[i], isnan(key) ? -INFINITY : state->sort_ascending ? -key : key };
	}
	qsort(list, count, sizeof list[0], largest_first);
	return count;
}

static int focused_row(const struct scene *scene, const struct listed *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!scene->focus.at_live_end && list[i].flagged->batch.ordinal == scene->focus.batch)
			return (int)i;
	return -1;
}

/* -- drawing -- */

enum { BATCH_WIDTH = 9, TIME_WIDTH = 9, RATIO_WIDTH = 6 };

static void cause_text(const struct run *run, const struct flagged *flagged, struct line *line)
{
	char text[NUMBER_SIZE], brief[CAUSE_BRIEF_SIZE];
	const struct explanation *why = flagged_explanation(flagged);
	line_start(line, " ");
	for (int i = 0; i < (int)why->cause_count; i++) {
		enum role role = i == 0 ? ROLE_NORMAL : ROLE_DIM;

		line_add(line, 2 * i, role, "%s%s", i > 0 ? "· " : "", cause_brief(run, &why->causes[i], brief));
		line_add(line, 2 * i + 1, role, "%s", format_percent(text, why->causes[i].share_ratio));
	}
	if (why->cause_count == 0)
		line_add(line, 0, ROLE_DIM, "%s", flagged->batch.is_by_hand ? "flagged by hand" : "–");
}

static void draw_row(const struct run *run, const struct track *track, const struct flagged *flagged, bool is_selected,
	struct canvas *canvas, struct rect row)
{
	double like = track->step.p50_s, ratio = ratio_of(flagged);
	int x = row.x + 2;
	char text[NUMBER_SIZE], cause[LINE_PIECE_SIZE];
	struct line line;
	if (is_selected)
		canvas_text(canvas, row.x, row.y, 2, ROLE_KEY, "▸");
	canvas_text(canvas, x, row.y, BATCH_WIDTH, ROLE_FLAG, parts_batch_name(text, run, &flagged->batch));
	canvas_text_right(
		canvas, x + BATCH_WIDTH, row.y, TIME_WIDTH, ROLE_NORMAL, parts_time(text, batch_pace_s(&flagged->batch), like));
	snprintf(text, sizeof text, isnan(ratio) ? "–" : "%.1f×", ratio);
	canvas_text_right(canvas, x + BATCH_WIDTH + TIME_WIDTH, row.y, RATIO_WIDTH, ROLE_NORMAL, text);
	x += BATCH_WIDTH + TIME_WIDTH + RATIO_WIDTH + 2;
	cause_text(run, flagged, &line);
	snprintf(cause, sizeof cause, "%s", line.pieces[0].text);
	if (line_draw(&line, canvas, x, row.y, row.x + row.width - x) == 0)
		canvas_text(canvas, x, row.y, row.x + row.width - x, ROLE_NORMAL, cause);
	if (is_selected)
		parts_select(canvas, row);
}

static void draw_header(struct canvas *canvas, struct rect row)
{
	int x = row.x + 2;
	canvas_fill(canvas, row, ' ', ROLE_HEADER);
	canvas_text(canvas, x, row.y, BATCH_WIDTH, ROLE_HEADER, "BATCH");
	canvas_text_right(canvas, x + BATCH_WIDTH, row.y, TIME_WIDTH, ROLE_HEADER, "STEP");
	canvas_text_right(canvas, x + BATCH_WIDTH + TIME_WIDTH, row.y, RATIO_WIDTH, ROLE_HEADER, "RATIO");
	canvas_text(canvas, x + BATCH_WIDTH + TIME_WIDTH + RATIO_WIDTH + 2, row.y, 20, ROLE_HEADER, "CAUSE");
}

void flag_list_draw(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	struct view_state *state = scene->state;
	struct listed list[RUN_FLAGGED_MAX];
	size_t count = sorted(scene, run, list);
	int selected = focused_row(scene, list, count);
	struct line right;
	line_start(&right, " · ");
	line_add(&right, 0, ROLE_NORMAL, "%zu", count);
	line_add(&right, 1, ROLE_NORMAL, "by %s%s", sort_names[state->sort], state->sort_ascending ? ", reversed" : "");
	line_add(&right, 2, ROLE_KEY, "<> sort");
	struct rect inside = parts_panel(canvas, rect, "Flagged", &right, ROLE_TITLE);

	if (count == 0) {
		char words[96];
		unsigned after = scene->model->options.flag_after;
		snprintf(words, sizeof words,
			scene_track(scene, run)->count < after
				? "no flagged batch yet: pmtop judges from batch %u after the warm-up on; f flags the selected batch"
				: "no flagged batch yet; f flags the selected batch",
			after);
		canvas_text(canvas, inside.x + 1, inside.y, inside.width - 1, ROLE_DIM, words);
		return;
	}
	panel_patterns_draw(scene, run, canvas, &inside);
	draw_header(canvas, rect_take_top(&inside, 1));
	state->row = selected >= 0 ? selected : state->row;
	parts_list_settle(state, (int)count, inside.height);
	state->list = inside;
	for (int i = 0; i < inside.height && state->scroll + i < (int)count; i++)
		draw_row(run, scene_track(scene, run), list[state->scroll + i].flagged, state->scroll + i == selected, canvas,
			rect_row(inside, i));
}

/* -- keys -- */

bool flag_list_key(struct scene *scene, const struct run *run, struct key_event event)
{
	struct view_state *state = scene->state;
	struct listed list[RUN_FLAGGED_MAX];
	if (parts_sort_key(state, event, SORTS))
		return true;
	size_t count = sorted(scene, run, list);
	bool had_focus = focused_row(scene, list, count) >= 0;

	if (count == 0 || event.key == KEY_PAGE_UP || event.key == KEY_PAGE_DOWN || event.key == KEY_TO_HOME ||
		event.key == KEY_TO_END)
		return false;
	if (!had_focus)
		state->row = -1;
	if (!parts_list_key(state, event, (int)count, state->list))
		return false;
	batch_focus(scene, list[state->row].flagged->batch.ordinal);
	return true;
}
