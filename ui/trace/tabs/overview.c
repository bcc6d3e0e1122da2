/* Overview: how busy the GPU is, why it is idle, the steps, what to do, and what takes most of the time. */
#include <math.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/trace/output/profile_advice.h"
#include "src/trace/output/profile_shorten.h"
#include "ui/core/layout.h"
#include "ui/trace/tabs/overview_advice.h"
#include "ui/trace/tabs/overview_gpu.h"
#include "ui/trace/tabs/overview_steps.h"
#include "ui/trace/trace_scene.h"
#include "ui/widgets/parts.h"

enum { BUSY_ROWS = 5, TOP_ROWS_MIN = 3, TOP_MAX = 24, STEPS_SHOWN_MAX = 6, ADVICE_ROWS_MIN = 9 };

/* -- what takes most of the time -- */

static int share_column(const struct trace_table *table)
{
	int column = 0;
	while (table->columns[column].form != TRACE_BAR)
		column++;
	return column;
}

struct top {
	const struct trace_table *table;
	const struct trace_list *list;
	int share;     /* the column */
	int name, bar; /* widths */
};

enum { TIME = 11, SHARE = 7 };

static void draw_top_row(const struct trace_scene *scene, const struct top *top, int i, const char *name,
	struct canvas *canvas, struct rect row)
{
	char number[NUMBER_SIZE];
	int sort = top->list->state.sort;
	double time_s = top->table->value(scene, top->list->order[i], sort),
		   share = top->table->value(scene, top->list->order[i], top->share);
	canvas_text(canvas, row.x, row.y, top->name, ROLE_NORMAL, name);
	canvas_text_right(canvas, row.x + top->name, row.y, TIME, ROLE_NORMAL,
		parts_time(number, time_s, trace_time_like(top->list->max[sort])));
	canvas_text_right(canvas, row.x + top->name + TIME, row.y, SHARE, ROLE_STRONG, format_percent(number, share));
	canvas_bar(
		canvas, row.x + top->name + TIME + SHARE + 1, row.y, top->bar, share / top->list->max[top->share], ROLE_PLOT);
}

/* The first rows of the table of a tab, in the order in which it shows them at first. */
static void draw_top(struct trace_scene *scene, const struct trace_tab *tab, enum trace_tab_id id,
	struct trace_list *list, struct canvas *canvas, struct rect rect)
{
	char names[TOP_MAX][TRACE_TEXT_SIZE], shown[TOP_MAX][TRACE_TEXT_SIZE];
	const char *from[TOP_MAX];
	char *to[TOP_MAX];
	struct line about;
	line_start(&about, "");
	line_add(&about, 0, ROLE_KEY, "%d all", (int)id + 1);
	struct rect inside = parts_panel(canvas, rect, tab->table->title, &about, ROLE_TITLE);
	rect_take_left(&inside, 1);
	rect_take_right(&inside, 1);
	struct top top = { tab->table, list, share_column(tab->table), 0,
		inside.width >= 60       ? 16
			: inside.width >= 45 ? 8
								 : 0 };
	top.name = inside.width - top.bar - TIME - SHARE - 1;
	if (!trace_table_fill(scene, tab->table, list) || top.name < 8)
		return;
	int count = 0;
	for (; count < inside.height && count < TOP_MAX && count < (int)list->count; count++) {
		tab->table->text(scene, list->order[count], 0, names[count]);
		from[count] = names[count];
		to[count] = shown[count];
	}
	profile_shorten(from, (size_t)count, (size_t)top.name, to, TRACE_TEXT_SIZE);
	for (int i = 0; i < count; i++)
		draw_top_row(scene, &top, i, to[i], canvas, rect_row(inside, i));
}

/* A CPU trace has no kernels: its operators take all the room. */
static void draw_tops(struct trace_scene *scene, struct canvas *canvas, struct rect rect, bool is_stacked)
{
	struct rect operators = rect;
	if (scene->analysis->profile.kernel_count) {
		operators = is_stacked ? rect_take_top(&rect, rect.height / 2) : rect_take_left(&rect, rect.width / 2);
		draw_top(scene, &kernels_trace_tab, TRACE_TAB_kernels, &scene->tops[1], canvas, rect);
	}
	draw_top(scene, &operators_trace_tab, TRACE_TAB_operators, &scene->tops[0], canvas, operators);
}

/* -- the whole -- */

static int step_rows(const struct trace_scene *scene, int most)
{
	int steps = (int)scene->analysis->idle.step_count;
	return !steps ? 2 : steps < most ? steps : most;
}

static void draw_loss(const struct trace_scene *scene, struct canvas *canvas, struct rect *rect)
{
	char loss[400];
	if (!profile_analysis_loss(scene->analysis, loss, sizeof loss)[0])
		return;
	struct rect nowhere = { 0, 0, rect->width - 3, 0 },
				row = rect_take_top(rect, parts_wrap(canvas, nowhere, ROLE_WARNING, loss));
	canvas_text(canvas, row.x + 1, row.y, 1, ROLE_WARNING, "⚠");
	rect_take_left(&row, 3);
	parts_wrap(canvas, row, ROLE_WARNING, loss);
}

static void draw_short(struct trace_scene *scene, struct canvas *canvas, struct rect rect)
{
	enum { STEPS_MAX = 3 };
	int frame = parts_panel_rows(canvas);
	overview_gpu_draw(scene, canvas, rect_take_top(&rect, frame + overview_gpu_rows(scene, true)), true);
	overview_steps_draw(scene, canvas, rect_take_top(&rect, frame + step_rows(scene, STEPS_MAX)));
	struct view_state *state = &scene->lists[TRACE_TAB_overview].state;
	int advice = frame + overview_advice_rows(scene, state, canvas, rect);
	struct rect tops = rect_take_bottom(&rect, rect.height - advice < frame + TOP_ROWS_MIN ? 0 : rect.height - advice);
	overview_advice_draw(scene, state, canvas, rect);
	if (tops.height > 0)
		draw_tops(scene, canvas, tops, tops.height >= 2 * (frame + TOP_ROWS_MIN));
}

static void draw_roomy(struct trace_scene *scene, struct canvas *canvas, struct rect rect)
{
	enum { WIDE = 160, BUSY_ROWS_MORE = 10, TALL = 50 };
	struct view_state *state = &scene->lists[TRACE_TAB_overview].state;
	int frame = parts_panel_rows(canvas), steps = rect.width * 2 / 5;
	bool has_gpu = trace_scene_gpu(scene) != NULL, is_wide = rect.width >= WIDE;
	struct rect top = rect_take_top(&rect, frame + overview_gpu_rows(scene, false));
	if (has_gpu)
		overview_steps_draw(scene, canvas, rect_take_right(&top, steps));
	overview_gpu_draw(scene, canvas, top, false);
	if (!has_gpu)
		overview_steps_draw(scene, canvas, rect_take_top(&rect, frame + step_rows(scene, STEPS_SHOWN_MAX)));
	int busy = frame + (rect.height > TALL - 12 ? BUSY_ROWS_MORE : BUSY_ROWS);
	if (has_gpu && rect.height >= busy + frame + ADVICE_ROWS_MIN)
		overview_busy_draw(scene, canvas, rect_take_top(&rect, busy));
	int advice = frame + overview_advice_rows(scene, state, canvas, rect), left = rect.height - advice;
	struct rect tops = is_wide         ? rect_take_right(&rect, rect.width / 2)
		: left >= frame + TOP_ROWS_MIN ? rect_take_bottom(&rect, left)
									   : (struct rect){ 0, 0, 0, 0 };
	overview_advice_draw(scene, state, canvas, rect);
	if (tops.height > 0)
		draw_tops(scene, canvas, tops, is_wide);
}

static void draw(struct trace_scene *scene, struct canvas *canvas, struct rect rect)
{
	draw_loss(scene, canvas, &rect);
	(parts_is_roomy(canvas) ? draw_roomy : draw_short)(scene, canvas, rect);
}

/* The table that shows what a recommendation is about. */
static void open(struct trace_scene *scene)
{
	static const enum trace_tab_id tabs[] = {
		[SECTION_OPERATORS] = TRACE_TAB_operators,
		[SECTION_KERNELS] = TRACE_TAB_kernels,
		[SECTION_COPIES] = TRACE_TAB_copies,
		[SECTION_GAPS] = TRACE_TAB_gaps,
		[SECTION_MEMORY] = TRACE_TAB_memory,
	};
	int row = scene->lists[TRACE_TAB_overview].state.row;
	if (row < scene->rule_count)
		scene->go_to = tabs[scene->rules[row]->see];
}

static bool key(struct trace_scene *scene, struct key_event event)
{
	struct view_state *state = &scene->lists[TRACE_TAB_overview].state;
	if (event.key == KEY_CLICK)
		return false;
	if (event.key == KEY_RETURN) {
		open(scene);
		return true;
	}
	return parts_list_key(state, event, scene->rule_count, state->list);
}

static const char *why_empty(const struct trace_scene *scene, char out[TRACE_WHY_SIZE])
{
	(void)scene, (void)out;
	return NULL;
}

const struct trace_tab overview_trace_tab = {
	.name = "Overview",
	.short_name = "Over",
	.keys = "q quit  Tab view  ↑↓ recommendation  Enter where  ? help",
	.why_empty = why_empty,
	.draw = draw,
	.key = key,
};
