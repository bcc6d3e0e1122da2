#include "ui/widgets/loop_picker.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/widgets/parts.h"

enum loop_cell { CELL_LOOP, CELL_LINE, CELL_RATE, CELL_POSITION, CELL_NOW, CELLS };

static const struct table_column columns[CELLS] = {
	[CELL_LOOP] = { "LOOP", 24, 0, true, true },
	[CELL_LINE] = { "LINE", 14, 1, true, false },
	[CELL_RATE] = { "RATE", 8, 3, false, false },
	[CELL_POSITION] = { "POSITION", 14, 2, false, false },
	[CELL_NOW] = { "NOW", 6, 1, true, false },
};

enum { ANY_PROCESS = -1, PLACE_SIZE = 96 };

static bool publishes(const struct run *run) { return run && !run->is_counted; }

int32_t loop_picker_wants(const struct loop_picker *picker, const struct scene *scene)
{
	const struct run *run = scene_run(scene);
	if (!picker->is_open || scene->replay || publishes(run))
		return 0;
	return run ? run->pid : ANY_PROCESS;
}

static bool has_loops(const struct loop_picker *picker, const struct scene *scene)
{
	int32_t wanted = loop_picker_wants(picker, scene);
	return wanted != 0 && scene->model->loops.pid != 0 && (wanted == ANY_PROCESS || wanted == scene->model->loops.pid);
}

/* Rows: pmtop's choice, and the loops. 0: there is nothing to choose from. */
static int row_count(const struct loop_picker *picker, const struct scene *scene)
{
	return has_loops(picker, scene) ? 1 + (int)scene->model->loops.count : 0;
}

static const struct loop *loop_at(const struct scene *scene, int row)
{
	return row > 0 && (size_t)row <= scene->model->loops.count ? &scene->model->loops.list[row - 1] : NULL;
}

static const char *place(char out[PLACE_SIZE], const char *file, uint32_t line)
{
	const char *slash = strrchr(file, '/');
	snprintf(out, PLACE_SIZE, "%.80s:%" PRIu32, slash ? slash + 1 : file, line);
	return out;
}

/* -- the selection -- */

static bool is_selected(const struct loop_picker *picker, const struct scene *scene, const struct loop *loop)
{
	bool is_chosen = scene->model->loops.is_chosen;
	if (!picker->has_moved)
		return loop ? is_chosen && loop->is_counted : !is_chosen;
	return loop ? loop->line == picker->line && strcmp(loop->file, picker->file) == 0 : picker->line == 0;
}

static void follow(struct loop_picker *picker, const struct scene *scene, int count)
{
	for (int row = 0; row < count; row++)
		if (is_selected(picker, scene, loop_at(scene, row)))
			picker->row = row;
}

static void settle(struct loop_picker *picker, const struct scene *scene, int count)
{
	struct view_state list = { .row = picker->row, .scroll = picker->scroll };
	parts_list_settle(&list, count, picker->list.height);
	picker->row = list.row;
	picker->scroll = list.scroll;
	const struct loop *loop = loop_at(scene, picker->row);
	picker->line = loop ? loop->line : 0;
	snprintf(picker->file, sizeof picker->file, "%s", loop ? loop->file : "");
}

/* -- drawing -- */

static void draw_loop(const struct table *table, const struct loop *loop, struct canvas *canvas, int y)
{
	char text[PLACE_SIZE], number[NUMBER_SIZE], length[NUMBER_SIZE];
	table_cell(table, canvas, y, CELL_LOOP, loop->is_counted ? ROLE_STRONG : ROLE_NORMAL,
		loop->text[0] != '\0' ? loop->text : "–");
	table_cell(table, canvas, y, CELL_LINE, ROLE_NORMAL, place(text, loop->file, loop->line));
	if (isnan(loop->per_s))
		snprintf(text, sizeof text, "–");
	else
		snprintf(text, sizeof text, "%s/s", format_rate(number, loop->per_s));
	table_cell(table, canvas, y, CELL_RATE, ROLE_NORMAL, text);
	parts_thousands(number, (double)loop->position);
	snprintf(
		text, sizeof text, loop->length ? "%s of %s" : "%s", number, parts_thousands(length, (double)loop->length));
	table_cell(table, canvas, y, CELL_POSITION, ROLE_NORMAL, text);
	table_cell(table, canvas, y, CELL_NOW, ROLE_GOOD, loop->is_counted ? "steps" : "");
}

/* pmtop's own choice, and what it is if nobody chose another one. */
static void draw_automatic(
	const struct table *table, const struct scene *scene, const struct run *run, struct canvas *canvas, int y)
{
	bool is_chosen = scene->model->loops.is_chosen;
	const struct inferred inferred = run && !is_chosen ? run_inferred(run) : (struct inferred){ .what = NULL };
	char text[160];
	snprintf(text, sizeof text, inferred.what ? "automatic: %s" : "automatic", inferred.what);
	table_cell(table, canvas, y, CELL_LOOP, is_chosen ? ROLE_NORMAL : ROLE_STRONG, text);
	if (inferred.file && inferred.line)
		table_cell(table, canvas, y, CELL_LINE, ROLE_NORMAL, place(text, inferred.file, inferred.line));
	table_cell(table, canvas, y, CELL_NOW, ROLE_GOOD, is_chosen ? "" : "in use");
}

static void draw_list(struct loop_picker *picker, const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	int count = row_count(picker, scene);
	struct table table;
	struct line right;
	line_start(&right, " · ");
	line_add(&right, 0, ROLE_NORMAL, "Enter count its iterations");
	line_add(&right, 1, ROLE_NORMAL, "Esc close");
	struct rect inside = parts_panel(canvas, rect, "Steps: choose a loop", &right, ROLE_TITLE),
				header = rect_take_top(&inside, 1), detail = rect_take_bottom(&inside, inside.height > 6 ? 1 : 0);
	rect_take_left(&inside, 1);
	rect_take_left(&header, 1);
	table_fit(&table, columns, CELLS, header);
	table_header(&table, canvas, header.y, -1, false);
	picker->list = inside;
	follow(picker, scene, count);
	settle(picker, scene, count);
	for (int i = 0; i < inside.height && picker->scroll + i < count; i++) {
		struct rect row = rect_row(inside, i);
		const struct loop *loop = loop_at(scene, picker->scroll + i);
		if (loop)
			draw_loop(&table, loop, canvas, row.y);
		else
			draw_automatic(&table, scene, scene_run(scene), canvas, row.y);
		if (picker->scroll + i == picker->row)
			parts_select(canvas, row);
	}
	const struct loop *chosen = loop_at(scene, picker->row);
	if (detail.height > 0 && chosen)
		canvas_printf(canvas, detail.x + 1, detail.y, detail.width - 1, ROLE_DIM, "%s  %s:%" PRIu32, chosen->text,
			chosen->file, chosen->line);
}

/* Why there is nothing to choose from. */
static void draw_note(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	char text[512], where[PLACE_SIZE];
	const struct inferred inferred = run ? run_inferred(run) : (struct inferred){ .what = NULL };
	bool is_at = inferred.file && inferred.line;
	if (publishes(run))
		snprintf(text, sizeof text, "This run publishes its own steps. pmtop does not infer them from a loop.");
	else if (scene->replay && inferred.what)
		snprintf(text, sizeof text,
			"A recording holds the loop that was chosen then: %s%s%s.\nTo choose another one, watch the running "
			"process: pmtop -p PID.",
			inferred.what, is_at ? ", " : "", is_at ? place(where, inferred.file, inferred.line) : "");
	else if (scene->replay)
		snprintf(text, sizeof text,
			"A recording holds the loop that was chosen then, and this one has none.\nTo choose one, watch the running "
			"process: pmtop -p PID.");
	else
		snprintf(text, sizeof text,
			scene->is_paused ? "The screen is paused. Space resumes it; then pmtop reads the loops."
							 : "pmtop reads the loops of the Python processes. They appear here once some were found.");
	parts_note(canvas, rect, "Steps: choose a loop", text);
}

void loop_picker_draw(struct loop_picker *picker, const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	picker->list = (struct rect){ 0, 0, 0, 0 };
	if (row_count(picker, scene) > 0)
		draw_list(picker, scene, canvas, rect);
	else
		draw_note(scene, scene_run(scene), canvas, rect);
}

/* -- keys -- */

static void choose(struct loop_picker *picker, struct scene *scene)
{
	const struct loop *loop = loop_at(scene, picker->row);
	char where[PLACE_SIZE];
	picker->choice[0] = '\0';
	if (loop)
		snprintf(picker->choice, sizeof picker->choice, "%s:%" PRIu32, loop->file, loop->line);
	if (loop)
		snprintf(scene->message, sizeof scene->message, "steps are counted in %s from now on",
			place(where, loop->file, loop->line));
	else
		snprintf(scene->message, sizeof scene->message, "pmtop chooses the loop from now on");
	picker->has_choice = true;
	picker->is_open = false;
}

static void open_picker(struct loop_picker *picker)
{
	picker->is_open = true;
	picker->has_moved = false;
	picker->row = picker->scroll = 0;
}

/* A click on the selected row chooses it, a click on another one selects it. */
static bool move(struct loop_picker *picker, struct scene *scene, struct key_event event)
{
	int count = row_count(picker, scene), before = picker->row;
	struct view_state list = { .row = picker->row, .scroll = picker->scroll };
	if (count == 0 || !parts_list_key(&list, event, count, picker->list))
		return false;
	picker->row = list.row;
	picker->has_moved = true;
	settle(picker, scene, count);
	if (event.key == KEY_CLICK && picker->row == before)
		choose(picker, scene);
	return true;
}

bool loop_picker_key(struct loop_picker *picker, struct scene *scene, struct key_event event)
{
	if (!picker->is_open) {
		if (event.key == 's')
			open_picker(picker);
		return event.key == 's';
	}
	switch (event.key) {
	case 's':
	case KEY_ESC: picker->is_open = false; return true;
	case KEY_RETURN:
		if (row_count(picker, scene) > 0)
			choose(picker, scene);
		return true;
	default: return move(picker, scene, event);
	}
}

bool loop_picker_take(struct loop_picker *picker, char out[LOOP_CHOICE_SIZE])
{
	bool has_choice = picker->has_choice;
	picker->has_choice = false;
	memcpy(out, picker->choice, LOOP_CHOICE_SIZE);
	return has_choice;
}
