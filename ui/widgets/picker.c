#include "ui/widgets/picker.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/typing.h"
#include "ui/widgets/view.h"

enum picker_cell {
	CELL_PID,
	CELL_RUN,
	CELL_RANK,
	CELL_EPOCH,
	CELL_BATCH,
	CELL_RATE,
	CELL_MEMORY,
	CELL_GPU,
	CELL_STATE,
	CELL_HOW,
	CELLS
};

static const struct table_column columns[CELLS] = {
	[CELL_PID] = { "PID", 8, 0, false, false },
	[CELL_RUN] = { "RUN", 18, 0, true, false },
	[CELL_RANK] = { "RANK", 6, 5, false, false },
	[CELL_EPOCH] = { "EPOCH", 9, 3, false, false },
	[CELL_BATCH] = { "BATCH", 11, 2, false, false },
	[CELL_RATE] = { "RATE", 8, 6, false, false },
	[CELL_MEMORY] = { "MEMORY", 8, 3, false, false },
	[CELL_GPU] = { "GPU", 14, 4, true, false },
	[CELL_STATE] = { "STATE", 19, 1, true, false },
	[CELL_HOW] = { "HOW TO WATCH IT", 26, 3, true, true },
};

enum { SHOWN_MAX = 512, HOW_BESIDE_GPU = 17 };

void picker_init(struct picker *picker) { *picker = (struct picker){ .row = 0 }; }

static const char *text_of(const char *text) { return text && text[0] != '\0' ? text : "–"; }

static bool is_shown(const struct picker *picker, const struct picker_row *row)
{
	char pid[NUMBER_SIZE];
	snprintf(pid, sizeof pid, "%d", row->pid);
	return parts_matches(pid, picker->filter) || parts_matches(text_of(row->run), picker->filter) ||
		parts_matches(text_of(row->state), picker->filter) || parts_matches(text_of(row->how), picker->filter);
}

static int shown_rows(const struct picker *picker, const struct picker_row *rows, size_t count, int shown[SHOWN_MAX])
{
	int found = 0;
	for (size_t i = 0; i < count && found < SHOWN_MAX; i++)
		if (is_shown(picker, &rows[i]))
			shown[found++] = (int)i;
	return found;
}

/* The selected row at its current position. */
static void follow(struct picker *picker, const struct picker_row *rows, const int *shown, int count)
{
	for (int i = 0; i < count && picker->pid != 0; i++)
		if (rows[shown[i]].pid == picker->pid && strcmp(text_of(rows[shown[i]].run), picker->run) == 0)
			picker->row = i;
}

static void settle(struct picker *picker, const struct picker_row *rows, const int *shown, int count)
{
	struct view_state list = { .row = picker->row, .scroll = picker->scroll };
	parts_list_settle(&list, count, picker->list.height);
	picker->row = list.row;
	picker->scroll = list.scroll;
	picker->pid = count > 0 ? rows[shown[list.row]].pid : 0;
	snprintf(picker->run, sizeof picker->run, "%s", count > 0 ? text_of(rows[shown[list.row]].run) : "");
}

int picker_selected(const struct picker *picker, const struct picker_row *rows, size_t count)
{
	int shown[SHOWN_MAX], found = shown_rows(picker, rows, count, shown);
	return found > 0 && picker->row < found ? shown[picker->row] : -1;
}

/* -- drawing -- */

static void draw_row(const struct table *table, const struct picker_row *row, struct canvas *canvas, int y)
{
	enum role role = row->is_ended ? ROLE_DIM : ROLE_NORMAL;
	char pid[NUMBER_SIZE];
	snprintf(pid, sizeof pid, "%d", row->pid);
	table_cell(table, canvas, y, CELL_PID, role, pid);
	table_cell(table, canvas, y, CELL_RUN, row->is_ended ? ROLE_DIM : ROLE_STRONG, text_of(row->run));
	table_cell(table, canvas, y, CELL_RANK, role, text_of(row->rank));
	table_cell(table, canvas, y, CELL_EPOCH, role, text_of(row->epoch));
	table_cell(table, canvas, y, CELL_BATCH, role, text_of(row->batch));
	table_cell(table, canvas, y, CELL_RATE, role, text_of(row->rate));
	table_cell(table, canvas, y, CELL_MEMORY, role, text_of(row->memory));
	table_cell(table, canvas, y, CELL_GPU, role, text_of(row->gpu));
	table_cell(table, canvas, y, CELL_STATE,
		row->is_ended         ? ROLE_DIM
			: row->is_slowest ? ROLE_WARNING
							  : ROLE_GOOD,
		text_of(row->state));
	table_cell(table, canvas, y, CELL_HOW, ROLE_DIM, text_of(row->how));
}

static const char no_process[] = "pmtop found no process that it can watch.\n"
								 "pmtop -p PID attaches to any process of yours. Batches appear once the program "
								 "is instrumented: pmtop.torch.instrument() in Python, pmtop.h in C (man 3 pmtop.h).\n"
								 "make demo, in pmtop's source, starts an example run.";

/* The GPU column is shown only if a process uses one; then the row below the list says how to watch the process. */
static void choose_columns(const struct picker_row *rows, size_t count, struct table_column out[CELLS])
{
	bool has_gpu = false;
	for (size_t i = 0; i < count; i++)
		has_gpu = has_gpu || (rows[i].gpu && rows[i].gpu[0] != '\0');
	memcpy(out, columns, sizeof columns);
	if (has_gpu)
		out[CELL_HOW].width = HOW_BESIDE_GPU;
	else
		out[CELL_GPU].width = 0;
}

static void draw_list(
	struct picker *picker, const struct picker_row *rows, size_t count, struct canvas *canvas, struct rect rect)
{
	int shown[SHOWN_MAX], found = shown_rows(picker, rows, count, shown);
	char text[NUMBER_SIZE];
	struct table_column chosen[CELLS];
	struct table table;
	struct line right;
	line_start(&right, " · ");
	line_add(&right, 0, ROLE_NORMAL, "%s", parts_thousands(text, (double)found));
	if (picker->filter[0] != '\0')
		line_add(&right, 0, ROLE_KEY, "/%s", picker->filter);
	struct rect inside = parts_panel(canvas, rect, "Processes to watch", &right, ROLE_TITLE),
				header = rect_take_top(&inside, 1);
	struct rect detail = rect_take_bottom(&inside, inside.height > 6 ? 1 : 0);

	choose_columns(rows, count, chosen);
	table_fit(&table, chosen, CELLS, header);
	table_header(&table, canvas, header.y, -1, false);
	picker->list = inside;
	follow(picker, rows, shown, found);
	settle(picker, rows, shown, found);
	if (detail.height > 0 && found > 0)
		canvas_printf(canvas, detail.x + 1, detail.y, detail.width - 1, ROLE_DIM, "%d  %s  %s", picker->pid,
			text_of(rows[shown[picker->row]].state), text_of(rows[shown[picker->row]].how));
	if (found == 0)
		canvas_text(canvas, inside.x + 1, inside.y, inside.width - 1, ROLE_DIM, "no process matches; Esc shows all");
	for (int i = 0; i < inside.height && picker->scroll + i < found; i++) {
		struct rect row = rect_row(inside, i);

		draw_row(&table, &rows[shown[picker->scroll + i]], canvas, row.y);
		if (picker->scroll + i == picker->row)
			parts_select(canvas, row);
	}
}

void picker_draw(struct picker *picker, const struct picker_row *rows, size_t count, struct canvas *canvas)
{
	struct rect rest = { 0, 0, canvas->width, canvas->height };
	struct rect header = rect_take_top(&rest, rest.height > 3 ? 1 : 0),
				last = rect_take_bottom(&rest, rest.height > 3 ? 1 : 0);
	canvas_unclip(canvas);
	canvas_clear(canvas);
	picker->list = (struct rect){ 0, 0, 0, 0 };
	if (header.height > 0) {
		canvas_text(canvas, 1, header.y, header.width - 1, ROLE_ACCENT, "pmtop");
		canvas_text(canvas, 8, header.y, header.width - 8, ROLE_DIM, "htop for training runs: choose one to watch");
	}
	if (parts_is_roomy(canvas))
		rect_take_top(&rest, 1);
	if (count == 0)
		parts_note(canvas, rest, "No process", no_process);
	else
		draw_list(picker, rows, count, canvas, rest);
	if (last.height > 0 && picker->is_typing)
		canvas_printf(canvas, 1, last.y, last.width - 1, ROLE_STRONG, "/%s_", picker->filter);
	else if (last.height > 0)
		canvas_text(canvas, 1, last.y, last.width - 1, ROLE_DIM, "Enter watch  ↑↓ choose  / filter  q quit");
}

/* -- keys -- */

static enum picker_wish choose(const struct picker *picker, const struct picker_row *rows, size_t count)
{
	return picker_selected(picker, rows, count) >= 0 ? PICKER_CHOSEN : PICKER_NOTHING;
}

/* A click on the selected row opens it, a click on another row selects it. */
static enum picker_wish move(struct picker *picker, const struct picker_row *rows, size_t count, struct key_event event)
{
	int shown[SHOWN_MAX], found = shown_rows(picker, rows, count, shown), before = picker->row;
	struct view_state list = { .row = picker->row, .scroll = picker->scroll };
	if (found == 0 || !parts_list_key(&list, event, found, picker->list))
		return PICKER_NOTHING;
	picker->row = list.row;
	settle(picker, rows, shown, found);
	return event.key == KEY_CLICK && picker->row == before ? PICKER_CHOSEN : PICKER_NOTHING;
}

enum picker_wish picker_key(struct picker *picker, const struct picker_row *rows, size_t count, struct key_event event)
{
	if (event.key == KEY_HANGUP)
		return PICKER_QUIT;
	if (picker->is_typing) {
		picker->is_typing = typing_key(picker->filter, sizeof picker->filter, event) == TYPING_ON;
		return PICKER_NOTHING;
	}
	switch (event.key) {
	case 'q': return PICKER_QUIT;
	case KEY_RETURN: return choose(picker, rows, count);
	case '/': picker->is_typing = true; return PICKER_NOTHING;
	case KEY_ESC:
		if (picker->filter[0] == '\0')
			return PICKER_QUIT;
		picker->filter[0] = '\0';
		return PICKER_NOTHING;
	default: return move(picker, rows, count, event);
	}
}
