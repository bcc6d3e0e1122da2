/* Code: the user's own Python lines that take the most time, what the selected line calls, and functions by self
 * time. */
#include "src/model/code/code.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/code/code_phases.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/code/code_lines.h"
#include "ui/views/code/code_parts.h"
#include "ui/views/code/code_threads_panel.h"
#include "ui/views/code/code_tree.h"
#include "ui/widgets/parts.h"

enum { FUNCTIONS_FROM_WIDTH = 110, LINES_MIN = 4, BELOW_MIN = 4 };

/* chosen_for holds the chosen group's index + 1. */
static bool rule_context_init(const struct scene *scene, struct code_sampled *sample)
{
	return code_sampled_init(scene, scene->state->chosen_for - 1, scene->state->zoom < 0, sample);
}

/* -- lines -- */

/* The selection follows its line. */
static void settle(struct view_state *state, const struct code_rows *rows, int height)
{
	for (size_t i = 0; i < rows->count && state->chosen > 0; i++)
		if (rows->indices[i] == state->chosen - 1)
			state->row = (int)i;
	parts_list_settle(state, (int)rows->count, height);
}

static void lines_panel(struct scene *scene, const struct code_sampled *sample, const struct code_rows *rows,
	struct canvas *canvas, struct rect rect)
{
	struct view_state *state = scene->state;
	struct table_column fitted[CODE_CELLS];
	struct table table;
	struct line title;
	code_title(scene, sample, &title);
	struct rect inside = parts_panel(canvas, rect, "Your lines", &title, ROLE_TITLE),
				header = rect_take_top(&inside, inside.height > 1 ? 1 : 0);

	if (rows->count == 0) {
		parts_wrap(canvas, inside, ROLE_DIM,
			sample->seconds > 0 ? "No line of your own code ran: all of it is installed packages or Python itself."
								: "No samples in this time.");
		return;
	}
	code_rows_fit(sample, rows, inside, &table, fitted);
	if (header.height > 0)
		table_header(&table, canvas, header.y, state->sort, state->sort_ascending);
	settle(state, rows, inside.height);
	state->list = inside;
	for (int i = 0; i < inside.height && state->scroll + i < (int)rows->count; i++) {
		struct rect row = rect_row(inside, i);

		code_line_draw(
			sample, &sample->code->lines[rows->indices[state->scroll + i]], &table, canvas, row.y, state->search);
		if (state->scroll + i == state->row)
			parts_select(canvas, row);
	}
}

/* -- the view -- */

static void draw_absent(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	static const char spans[] =
		"\nSpans show where time goes in any language: put PMTOP_SPAN(pm, \"decode\") { … } around "
		"the code; [3] Operations shows it.";
	const struct model *model = scene->model;
	char text[600];
	snprintf(text, sizeof text, "pmtop has no samples of its Python code yet.%s", spans);
	for (size_t i = 0; i < model->missing_count; i++)
		if (model->missing[i].subject == MISSING_STACKS)
			snprintf(text, sizeof text, "No Python code sampled: %s%s%s%s%s.%s", model->missing[i].text,
				model->missing[i].remedy[0] ? " (" : "", model->missing[i].remedy,
				model->missing[i].remedy[0] ? ")" : "", "", spans);
	if (scene->replay && model->missing_count == 0)
		snprintf(text, sizeof text, "This recording has no samples of Python code.%s", spans);
	parts_note(canvas, rect, "Code", text);
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct view_state *state = scene->state;
	struct code_sampled sample;
	struct code_rows rows;
	state->list = (struct rect){ 0, 0, 0, 0 };
	if (!rule_context_init(scene, &sample)) {
		draw_absent(scene, canvas, rect);
		return;
	}
	code_rows_collect(&sample, state->sort, state->sort_ascending, &rows);
	struct rect phases = rect_take_top(&rect, rect.height > LINES_MIN ? 1 : 0),
				threads = rect_take_bottom(&rect, code_threads_height(scene, &sample, canvas, rect.height));
	int frame = parts_panel_rows(canvas), wanted = (int)rows.count + 1 + frame, half = rect.height * 55 / 100;
	int height = wanted < half ? (wanted > LINES_MIN + frame ? wanted : LINES_MIN + frame) : half;

	if (phases.height > 0)
		code_phases_row(&sample, canvas, phases);
	if (threads.height > 0)
		code_threads_panel(scene, &sample, canvas, threads);
	struct rect top = rect_take_top(&rect, rect.height - height < BELOW_MIN + frame ? rect.height : height);

	lines_panel(scene, &sample, &rows, canvas, top);
	if (rect.height <= 0)
		return;
	struct rect right = rect_take_right(&rect,
		rect.width >= FUNCTIONS_FROM_WIDTH ? rect.width / 2
			: rows.count > 0               ? 0
										   : rect.width);

	if (rect.width > 0)
		code_tree_panel(&sample, rows.count > 0 ? &sample.code->lines[rows.indices[state->row]] : NULL, canvas, rect);
	if (right.width > 0)
		code_functions_panel(&sample, canvas, right);
}

/* -- keys -- */

static void choose_group(struct scene *scene, const struct code_sampled *sample, int step)
{
	const struct code *code = sample->code;
	for (size_t i = 1; i <= code->group_count; i++) {
		size_t at = (sample->index + (step > 0 ? i : code->group_count - i)) % code->group_count;

		if (!code->groups[at].is_used)
			continue;
		scene->state->chosen_for = (int)at + 1;
		scene->state->chosen = 0;
		scene->state->row = 0;
		return;
	}
}

struct listed {
	const struct code_sampled *sample;
	const struct code_rows *rows;
};

static bool matches(const void *rows, int row, const char *search)
{
	const struct listed *listed = rows;
	return code_line_matches(listed->sample, &listed->sample->code->lines[listed->rows->indices[row]], search);
}

static int next_sort(int sort, int step)
{
	static const int sorts[] = { CODE_CELL_SHARE, CODE_CELL_ALL, CODE_CELL_LOCATION };
	int at = 0;
	for (int i = 0; i < 3; i++)
		if (sorts[i] == sort)
			at = i;
	return sorts[(at + step + 3) % 3];
}

static bool click_header(
	const struct code_sampled *sample, const struct code_rows *rows, struct view_state *state, struct key_event event)
{
	struct table_column fitted[CODE_CELLS];
	struct table table;
	if (event.y != state->list.y - 1 || state->list.height == 0)
		return false;
	code_rows_fit(sample, rows, state->list, &table, fitted);
	int column = table_column_at(&table, event.x);

	if (column == CODE_CELL_SHARE || column == CODE_CELL_ALL || column == CODE_CELL_LOCATION) {
		parts_sort_by(state, column);
	}
	return true;
}

static bool key(struct scene *scene, struct key_event event, struct rect rect)
{
	struct view_state *state = scene->state;
	struct code_sampled sample;
	struct code_rows rows;
	(void)rect;
	if (!rule_context_init(scene, &sample))
		return false;
	code_rows_collect(&sample, state->sort, state->sort_ascending, &rows);
	switch (event.key) {
	case '<': state->sort = next_sort(state->sort, -1); return true;
	case '>': state->sort = next_sort(state->sort, 1); return true;
	case 'I': state->sort_ascending = !state->sort_ascending; return true;
	case '-': state->zoom = -1; return true;
	case '+': state->zoom = 0; return true;
	case KEY_ARROW_LEFT: choose_group(scene, &sample, -1); return true;
	case KEY_ARROW_RIGHT: choose_group(scene, &sample, 1); return true;
	case 'n':
	case 'N':
		if (state->search[0] == '\0')
			return false;
		if (parts_list_find(scene, event, (int)rows.count, "line", matches, &(struct listed){ &sample, &rows }))
			state->chosen = rows.indices[state->row] + 1u;
		return true;
	case KEY_CLICK:
		if (click_header(&sample, &rows, state, event))
			return true;
		break;
	default: break;
	}
	if (!parts_list_key(state, event, (int)rows.count, state->list))
		return false;
	if (rows.count > 0 && state->row >= 0 && state->row < (int)rows.count)
		state->chosen = rows.indices[state->row] + 1u;
	return true;
}

static void write(const struct scene *scene, struct buffer *out)
{
	struct code_sampled sample;
	struct code_rows rows;
	if (!rule_context_init(scene, &sample))
		return;
	code_rows_collect(&sample, scene->state->sort, scene->state->sort_ascending, &rows);
	buffer_puts(
		out, "pid,is_workers,file,line,function,works_at,seconds,share_ratio,all_seconds,all_share_ratio,text\n");
	for (size_t i = 0; i < rows.count; i++) {
		const struct code_line *line = &sample.code->lines[rows.indices[i]];
		const struct code_name *name = &sample.code->codes[line->code];

		parts_csv_integer(out, true, sample.group->pid);
		parts_csv_integer(out, false, sample.group->is_workers);
		parts_csv_text(out, false, name->file);
		parts_csv_integer(out, false, line->line);
		parts_csv_text(out, false, name->function);
		parts_csv_text(out, false, code_phase_name(line->phase));
		parts_csv_number(out, false, code_seconds(&sample, &line->self));
		parts_csv_number(out, false, code_share(&sample, &line->self));
		parts_csv_number(out, false, code_seconds(&sample, &line->all));
		parts_csv_number(out, false, code_share(&sample, &line->all));
		parts_csv_text(out, false, line->text ? line->text : "");
		buffer_puts(out, "\n");
	}
}

const struct view code_view = {
	.needs = NEEDS_STACKS,
	.name = "Code",
	.short_name = "Code",
	.digit = '7',
	.keys = "q quit  Tab view  ↑↓ line  ←→ process  - whole run  + last minute  <> sort  / search  w save CSV  ? help",
	.keys_short = "q quit  ↑↓ line  ←→ process  -/+ whole/minute  <> sort  / search  ? help",
	.can_search = true,
	.draw = draw,
	.key = key,
	.write = write,
};
