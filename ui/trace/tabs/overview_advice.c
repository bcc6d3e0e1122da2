#include "ui/trace/tabs/overview_advice.h"

#include <stdio.h>

#include "src/trace/output/profile_advice.h"
#include "ui/core/layout.h"
#include "ui/widgets/parts.h"

/* Draws one recommendation into the top of `rect`, or only measures it if `rect` has no height; returns its rows. The
 * selected one also says why it matters. */
static int draw_one(
	const struct trace_scene *scene, int index, bool is_selected, struct canvas *canvas, struct rect rect)
{
	const struct profile_rule *rule = scene->rules[index];
	bool is_warning = profile_rule_is_warning(rule);
	char text[PROFILE_MESSAGE_SIZE];
	enum role role = is_warning ? ROLE_WARNING : ROLE_INFO;
	int rows = 0;
	struct rect wide = rect;
	rect_take_left(&wide, 2);
	if (rect.height > 0) {
		canvas_text(canvas, rect.x, rect.y, 1, role, is_warning ? "⚠" : "·");
		if (is_selected)
			canvas_text(canvas, rect.x - 1, rect.y, 1, ROLE_KEY, "▸");
	}
	rows += parts_wrap(
		canvas, wide, is_selected ? ROLE_STRONG : ROLE_NORMAL, profile_rule_say(rule->message, &scene->figures, text));
	if (is_selected) {
		struct rect why = wide;
		rect_take_top(&why, rows);
		rows += parts_wrap(canvas, why, ROLE_NORMAL, profile_rule_say(rule->meaning, &scene->figures, text));
	}
	rect_take_top(&wide, rows);
	if (wide.height > 0)
		canvas_text(canvas, wide.x, wide.y, 1, ROLE_ACCENT, "→");
	rect_take_left(&wide, 2);
	return rows +
		parts_wrap(canvas, wide, is_selected ? ROLE_NORMAL : ROLE_DIM,
			profile_rule_say(profile_rule_advice(rule, &scene->figures), &scene->figures, text));
}

static int rows_of(
	const struct trace_scene *scene, int index, bool is_selected, struct canvas *canvas, struct rect rect)
{
	rect.height = 0;
	return draw_one(scene, index, is_selected, canvas, rect);
}

int overview_advice_rows(
	const struct trace_scene *scene, const struct view_state *state, struct canvas *canvas, struct rect rect)
{
	int rows = 0;
	rect.width -= parts_panel_rows(canvas) > 1 ? 4 : 2;
	for (int i = 0; i < scene->rule_count; i++)
		rows += rows_of(scene, i, i == state->row, canvas, rect);
	return rows ? rows : 1;
}

/* The first one that is drawn, so that the selected one fits whole. */
static int first_shown(const struct trace_scene *scene, int selected, struct canvas *canvas, struct rect rect)
{
	int rows = rows_of(scene, selected, true, canvas, rect), first = selected;
	while (first > 0 && (rows += rows_of(scene, first - 1, false, canvas, rect)) <= rect.height)
		first--;
	return first;
}

void overview_advice_draw(
	const struct trace_scene *scene, struct view_state *state, struct canvas *canvas, struct rect rect)
{
	struct line about;
	line_start(&about, " · ");
	line_add(&about, 0, ROLE_NORMAL, "%d", scene->rule_count);
	if (scene->rule_count)
		line_add(&about, 1, ROLE_KEY, "↑↓ why  Enter where");
	struct rect inside = parts_panel(canvas, rect, "What to do", &about, ROLE_TITLE);
	rect_take_left(&inside, 1);
	rect_take_right(&inside, 1);
	state->list = inside;
	parts_list_settle(state, scene->rule_count, inside.height);
	if (!scene->rule_count) {
		canvas_text(
			canvas, inside.x, inside.y, inside.width, ROLE_GOOD, "No recommendation: no rule of pmtop trace applies.");
		return;
	}
	canvas_clip(canvas, (struct rect){ inside.x - 1, inside.y, inside.width + 1, inside.height });
	for (int i = first_shown(scene, state->row, canvas, inside); i < scene->rule_count && inside.height > 0; i++)
		rect_take_top(&inside, draw_one(scene, i, i == state->row, canvas, inside));
	canvas_unclip(canvas);
}
