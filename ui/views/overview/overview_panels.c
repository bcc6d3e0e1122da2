#include "ui/views/overview/overview_panels.h"

#include "src/rules/alerts_list.h"
#include "ui/core/layout.h"
#include "ui/views/overview/panel_gpu.h"
#include "ui/views/overview/panel_lists.h"
#include "ui/views/overview/panels.h"
#include "ui/views/system/system_line.h"
#include "ui/views/system/system_panels.h"
#include "ui/widgets/parts.h"

static int clamp(int value, int min, int max) { return value < min ? min : value > max ? max : value; }

/* -- one panel -- */

int overview_machine_rows(const struct scene *scene)
{
	/* before the machine is known, the line says why there is no GPU */
	return system_is_known(scene->model) || scene->model->gpus.count == 0 ? 1 : 0;
}

void overview_machine(struct scene *scene, struct canvas *canvas, struct rect row)
{
	if (!system_is_known(scene->model)) {
		panel_gpu(scene, canvas, row);
		return;
	}
	rect_take_left(&row, 1);
	panel_system_line(scene, canvas, row);
}

static void draw_steps(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	panel_steps(scene, run, canvas, rect);
}

static void draw_where(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	panel_where(scene, run, canvas, rect);
}

static void draw_memory(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	(void)run;
	panel_memory(scene, canvas, rect, scene->state->zoom);
}

static void draw_epochs(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	panel_epochs(scene, run, canvas, rect);
}

static void draw_processes(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	(void)run;
	process_table(scene, canvas, parts_panel(canvas, rect, "Processes", NULL, ROLE_TITLE), NULL);
}

static void draw_warnings(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	(void)run;
	panel_warnings(scene, canvas, rect);
}

static void draw_gpu(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	(void)run;
	panel_gpu(scene, canvas, rect);
}

static void draw_machine(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	(void)run;
	overview_machine(scene, canvas, rect);
}

enum column { COLUMN_LEFT, COLUMN_RIGHT, COLUMN_BOTH };

/* The steps change with each frame, so that no pane holds them. */
static const struct panel {
	void (*draw)(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);
	enum pane_id pane;
	enum column column;
} panels[SETTING_PANEL_COUNT] = {
	[SETTING_PANEL_steps] = { draw_steps, PANES, COLUMN_LEFT },
	[SETTING_PANEL_where] = { draw_where, PANE_WHERE, COLUMN_RIGHT },
	[SETTING_PANEL_memory] = { draw_memory, PANE_MEMORY, COLUMN_LEFT },
	[SETTING_PANEL_epochs] = { draw_epochs, PANE_EPOCHS, COLUMN_RIGHT },
	[SETTING_PANEL_processes] = { draw_processes, PANE_PROCESSES, COLUMN_RIGHT },
	[SETTING_PANEL_warnings] = { draw_warnings, PANE_WARNINGS, COLUMN_BOTH },
	[SETTING_PANEL_gpu] = { draw_gpu, PANE_GPU, COLUMN_RIGHT },
	[SETTING_PANEL_machine] = { draw_machine, PANE_MACHINE, COLUMN_BOTH },
};

static void draw_panel(
	struct scene *scene, const struct run *run, enum setting_panel id, struct canvas *canvas, struct rect rect)
{
	const struct panel *panel = &panels[id];
	if (rect.height > 0 && (panel->pane == PANES || pane_is_due(&scene->panes, panel->pane, rect)))
		panel->draw(scene, run, canvas, rect);
}

/* -- heights -- */

struct heights {
	bool is_shown[SETTING_PANEL_COUNT];
	int of[SETTING_PANEL_COUNT];
};

static struct heights shown_heights(const struct scene *scene)
{
	const struct setting_panels *list = &scene->settings->panels;
	struct heights heights = { 0 };
	for (unsigned i = 0; i < list->count; i++)
		heights.is_shown[list->list[i]] = true;
	return heights;
}

/* Gives a panel rows of the rest. */
static void give(struct heights *heights, enum setting_panel panel, int rows, int *rest)
{
	if (!heights->is_shown[panel])
		return;
	heights->of[panel] = clamp(rows, 0, *rest);
	*rest -= heights->of[panel];
}

/* Gives the rest to the first of these that is shown. */
static void give_rest(struct heights *heights, const enum setting_panel *wishing, size_t count, int rest)
{
	for (size_t i = 0; i < count; i++)
		if (heights->is_shown[wishing[i]]) {
			heights->of[wishing[i]] += rest;
			return;
		}
}

/* -- narrow -- */

static bool are_beside(enum setting_panel a, enum setting_panel b)
{
	return (a == SETTING_PANEL_where && b == SETTING_PANEL_memory) ||
		(a == SETTING_PANEL_memory && b == SETTING_PANEL_where);
}

/* Side by side if there is room for both; else only the first. */
static void draw_pair(struct scene *scene, const struct run *run, const enum setting_panel pair[2],
	struct canvas *canvas, struct rect rect)
{
	struct rect left = rect;
	if (rect.width >= 70) {
		left = rect_take_left(&rect, rect.width / 2);
		if (!parts_is_roomy(canvas))
			rect_take_right(&left, 1);
		draw_panel(scene, run, pair[1], canvas, rect);
	}
	draw_panel(scene, run, pair[0], canvas, left);
}

static struct heights narrow_heights(const struct scene *scene, const struct canvas *canvas, int height)
{
	static const enum setting_panel wishing[] = { SETTING_PANEL_steps, SETTING_PANEL_where, SETTING_PANEL_memory,
		SETTING_PANEL_warnings, SETTING_PANEL_gpu };
	struct heights heights = shown_heights(scene);
	int frame = parts_panel_rows(canvas), rest = height, raised = (int)alerts_raised(scene->alerts);
	give(&heights, SETTING_PANEL_machine, height >= 18 ? overview_machine_rows(scene) : 0, &rest);
	give(&heights, SETTING_PANEL_gpu, panel_gpu_height(scene, canvas, height), &rest);
	give(&heights, SETTING_PANEL_warnings,
		height < 12 ? 0 : frame + clamp(raised * (height >= 30 ? 2 : 1), 1, height / 6), &rest);
	int pair = rest < 9 && heights.is_shown[SETTING_PANEL_steps] ? 0 : frame + clamp(rest * 2 / 5, 3, 12);
	const struct setting_panels *list = &scene->settings->panels;
	bool is_pair = false;
	for (unsigned i = 0; i + 1 < list->count; i++)
		is_pair |= are_beside(list->list[i], list->list[i + 1]);
	give(&heights, SETTING_PANEL_where, pair, &rest);
	if (is_pair)
		heights.of[SETTING_PANEL_memory] = heights.of[SETTING_PANEL_where];
	else
		give(&heights, SETTING_PANEL_memory, pair, &rest);
	give_rest(&heights, wishing, sizeof wishing / sizeof *wishing, rest);
	if (is_pair)
		heights.of[SETTING_PANEL_memory] = heights.of[SETTING_PANEL_where];
	return heights;
}

void overview_narrow(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	const struct setting_panels *list = &scene->settings->panels;
	struct heights heights = narrow_heights(scene, canvas, rect.height);
	for (unsigned i = 0; i < list->count; i++) {
		struct rect row = rect_take_top(&rect, heights.of[list->list[i]]);
		bool is_pair = i + 1 < list->count && are_beside(list->list[i], list->list[i + 1]);
		if (is_pair && row.height > 0)
			draw_pair(scene, run, &list->list[i], canvas, row);
		else
			draw_panel(scene, run, list->list[i], canvas, row);
		i += is_pair;
	}
}

/* -- wide -- */

static struct heights wide_heights(const struct scene *scene, const struct canvas *canvas, int height)
{
	static const enum setting_panel left[] = { SETTING_PANEL_steps, SETTING_PANEL_memory },
									right[] = { SETTING_PANEL_where, SETTING_PANEL_epochs, SETTING_PANEL_gpu,
										SETTING_PANEL_processes };
	const struct process *shown[PROCESS_ROWS_MAX];
	struct heights heights = shown_heights(scene);
	int rest = height, raised = (int)alerts_raised(scene->alerts);
	give(&heights, SETTING_PANEL_machine, overview_machine_rows(scene), &rest);
	give(&heights, SETTING_PANEL_warnings, 2 + clamp(raised, 2, rest / 5), &rest);
	int left_rest = rest, right_rest = rest, memory = rest * 2 / 5;
	give(&heights, SETTING_PANEL_memory, heights.is_shown[SETTING_PANEL_steps] ? memory : rest, &left_rest);
	give_rest(&heights, left, 2, left_rest);
	give(&heights, SETTING_PANEL_processes, clamp((int)process_rows(scene, shown) + 3, memory, rest / 2), &right_rest);
	give(&heights, SETTING_PANEL_gpu, right_rest >= 26 ? panel_gpu_height(scene, canvas, right_rest) : 0, &right_rest);
	give(&heights, SETTING_PANEL_epochs, right_rest >= 24 ? right_rest - 14 : 0, &right_rest);
	give_rest(&heights, right, 4, right_rest);
	return heights;
}

static bool has_column(const struct setting_panels *list, enum column column)
{
	for (unsigned i = 0; i < list->count; i++)
		if (panels[list->list[i]].column == column)
			return true;
	return false;
}

static void draw_column(struct scene *scene, const struct run *run, enum column column, const struct heights *heights,
	struct canvas *canvas, struct rect rect)
{
	const struct setting_panels *list = &scene->settings->panels;
	for (unsigned i = 0; i < list->count; i++)
		if (panels[list->list[i]].column == column)
			draw_panel(scene, run, list->list[i], canvas, rect_take_top(&rect, heights->of[list->list[i]]));
}

/* What stands across both columns is above them where the list begins with it, else below. */
static void draw_across(
	struct scene *scene, const struct run *run, const struct heights *heights, struct canvas *canvas, struct rect *rect)
{
	const struct setting_panels *list = &scene->settings->panels;
	unsigned first = 0;
	for (; first < list->count && panels[list->list[first]].column == COLUMN_BOTH; first++)
		draw_panel(scene, run, list->list[first], canvas, rect_take_top(rect, heights->of[list->list[first]]));
	for (unsigned i = list->count; i-- > first;)
		if (panels[list->list[i]].column == COLUMN_BOTH)
			draw_panel(scene, run, list->list[i], canvas, rect_take_bottom(rect, heights->of[list->list[i]]));
}

void overview_wide(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	const struct setting_panels *list = &scene->settings->panels;
	struct heights heights = wide_heights(scene, canvas, rect.height);
	bool has_left = has_column(list, COLUMN_LEFT), has_right = has_column(list, COLUMN_RIGHT);
	draw_across(scene, run, &heights, canvas, &rect);
	struct rect left = rect_take_left(&rect, has_left && has_right ? rect.width * 29 / 50 : has_left ? rect.width : 0);
	draw_column(scene, run, COLUMN_LEFT, &heights, canvas, left);
	draw_column(scene, run, COLUMN_RIGHT, &heights, canvas, rect);
}
