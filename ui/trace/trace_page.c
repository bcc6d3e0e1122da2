#include "ui/trace/trace_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/trace/output/profile_shorten.h"
#include "ui/core/layout.h"
#include "ui/trace/trace_table.h"
#include "ui/widgets/parts.h"

enum { CELL_WIDTH = 10, BAR_WIDTH = 14, LABEL_WIDTH = 16, BIN_BAR_WIDTH = 40, SHOWN_MAX = 256 };

/* -- content -- */

static struct trace_row *add(struct trace_page *page, enum trace_row_kind kind, enum role role)
{
	if (page->count == page->capacity) {
		int capacity = page->capacity ? 2 * page->capacity : 64;
		struct trace_row *rows = realloc(page->rows, (size_t)capacity * sizeof *rows);
		if (!rows)
			return NULL;
		page->rows = rows;
		page->capacity = capacity;
	}
	page->rows[page->count] = (struct trace_row){ .kind = kind, .role = role, .bar = NAN };
	return &page->rows[page->count++];
}

void trace_page_title(struct trace_page *page, const char *name, const char *const headings[TRACE_CELLS])
{
	if (page->count)
		add(page, TRACE_ROW_TEXT, ROLE_NORMAL);
	struct trace_row *row = add(page, TRACE_ROW_TITLE, ROLE_HEADER);
	if (!row)
		return;
	snprintf(row->name, sizeof row->name, "%s", name);
	for (int i = 0; headings && i < TRACE_CELLS; i++)
		snprintf(row->cells[i], NUMBER_SIZE, "%s", headings[i] ? headings[i] : "");
}

void trace_page_text(struct trace_page *page, enum role role, const char *format, ...)
{
	va_list arguments;
	struct trace_row *row = add(page, TRACE_ROW_TEXT, role);
	if (!row)
		return;
	va_start(arguments, format);
	vsnprintf(row->name, sizeof row->name, format, arguments);
	va_end(arguments);
}

void trace_page_wrapped(struct trace_page *page, enum role role, const char *text)
{
	enum { WIDTH = 74 };
	while (*text) {
		size_t length = text_prefix(text, WIDTH), word = length;
		while (text[length] && word && text[word] != ' ')
			word--;
		length = text[length] && word ? word : length;
		trace_page_text(page, role, "%.*s", (int)length, text);
		text += length + (text[length] == ' ');
	}
}

void trace_page_figure(struct trace_page *page, const char *label, const char *value)
{
	if (value)
		trace_page_text(page, ROLE_NORMAL, "%-*s%s", LABEL_WIDTH, label, value);
}

struct trace_row *trace_page_entry(struct trace_page *page) { return add(page, TRACE_ROW_ENTRY, ROLE_NORMAL); }

/* "12.3 – 45.6 µs  ██████  123". */
static void add_bin(struct trace_page *page, const struct profile_spread *spread, unsigned bin, uint64_t most)
{
	char low[NUMBER_SIZE], high[NUMBER_SIZE];
	double like = trace_time_like((double)spread->max / 1e9);
	struct trace_row *row = add(page, TRACE_ROW_TEXT, ROLE_NORMAL);
	if (!row)
		return;
	parts_time(low, (double)spread->edges[bin] / 1e9, like);
	parts_time(high, (double)spread->edges[bin + 1] / 1e9, like);
	/* Of small bins beside large ones the unit of the largest shows nothing. */
	if (strcmp(low, high) == 0) {
		format_seconds(low, (double)spread->edges[bin] / 1e9);
		format_seconds(high, (double)spread->edges[bin + 1] / 1e9);
	}
	snprintf(row->name, sizeof row->name, "%10s – %s", low, high);
	row->bar = (double)spread->bins[bin] / (double)most;
	format_grouped(row->cells[0], spread->bins[bin]);
}

void trace_page_spread(struct trace_page *page, const char *title, const struct profile_spread *spread)
{
	char number[5][NUMBER_SIZE];
	uint64_t most = 1;
	if (!spread->count)
		return;
	trace_page_title(page, title, NULL);
	trace_page_text(page, ROLE_DIM, "min %s · median %s · p95 %s · max %s · %s in all",
		format_seconds(number[0], (double)spread->min / 1e9), format_seconds(number[1], (double)spread->median / 1e9),
		format_seconds(number[2], (double)spread->p95 / 1e9), format_seconds(number[3], (double)spread->max / 1e9),
		format_grouped(number[4], spread->count));
	for (unsigned i = 0; i < spread->bin_count; i++)
		most = spread->bins[i] > most ? spread->bins[i] : most;
	for (unsigned i = 0; i < spread->bin_count && spread->bin_count > 1; i++)
		add_bin(page, spread, i, most);
}

void trace_page_release(struct trace_page *page)
{
	free(page->rows);
	*page = (struct trace_page){ 0 };
}

/* -- drawing -- */

static bool is_entry(const struct trace_page *page, int row)
{
	return row >= 0 && row < page->count && page->rows[row].kind == TRACE_ROW_ENTRY;
}

static int next_entry(const struct trace_page *page, int row, int step)
{
	for (row += step; row >= 0 && row < page->count; row += step)
		if (is_entry(page, row))
			return row;
	return -1;
}

static bool is_visible(const struct trace_page *page, int row)
{
	return row >= page->state.scroll && row < page->state.scroll + page->state.list.height;
}

/* Keeps the first row in range, and an entry selected if there is one. */
static void settle(struct trace_page *page)
{
	struct view_state *state = &page->state;
	int end = page->count > state->list.height ? page->count - state->list.height : 0;
	state->scroll = state->scroll > end ? end : state->scroll < 0 ? 0 : state->scroll;
	if (!is_entry(page, state->row)) {
		int row = next_entry(page, -1, 1);
		state->row = row >= 0 ? row : 0;
	}
}

/* With its heading, which may stand above it. */
static void make_visible(struct trace_page *page)
{
	struct view_state *state = &page->state;
	if (state->row <= state->scroll)
		state->scroll = state->row - 1;
	if (state->row >= state->scroll + state->list.height)
		state->scroll = state->row - state->list.height + 1;
	settle(page);
}

/* How many cells are shown, and where the name ends. */
static int cells_shown(struct rect rect) { return rect.width >= 76 ? TRACE_CELLS : rect.width >= 50 ? 2 : 1; }

static int bar_width(struct rect rect) { return rect.width >= 100 ? BAR_WIDTH : 0; }

static int name_width(struct rect rect)
{
	return rect.width - cells_shown(rect) * CELL_WIDTH - (bar_width(rect) ? bar_width(rect) + 1 : 0) - 1;
}

static void draw_cells(const struct trace_row *row, struct canvas *canvas, struct rect rect, int y, enum role role)
{
	int x = rect.x + name_width(rect) + 1;
	for (int i = 0; i < cells_shown(rect); i++, x += CELL_WIDTH)
		canvas_text_right(canvas, x, y, CELL_WIDTH - 1, role, row->cells[i]);
	if (bar_width(rect) && !isnan(row->bar))
		canvas_bar(canvas, x + 1, y, bar_width(rect) - 1, row->bar, ROLE_PLOT);
}

static void draw_bin(const struct trace_row *row, struct canvas *canvas, struct rect rect, int y)
{
	enum { LABEL = 24 };
	int width = rect.width - LABEL - 10 < BIN_BAR_WIDTH ? rect.width - LABEL - 10 : BIN_BAR_WIDTH;
	canvas_text(canvas, rect.x, y, LABEL, ROLE_NORMAL, row->name);
	canvas_text_right(canvas, rect.x + LABEL, y, 8, ROLE_STRONG, row->cells[0]);
	canvas_bar(canvas, rect.x + LABEL + 9, y, width, row->bar, ROLE_PLOT);
}

static void draw_row(const struct trace_page *page, const struct trace_row *row, const char *name,
	struct canvas *canvas, struct rect rect, int y)
{
	bool is_match =
		page->state.search[0] && row->kind == TRACE_ROW_ENTRY && parts_matches(row->name, page->state.search);
	switch (row->kind) {
	case TRACE_ROW_TITLE:
		canvas_fill(canvas, (struct rect){ rect.x, y, rect.width, 1 }, ' ', ROLE_HEADER);
		canvas_text(canvas, rect.x, y, row->cells[0][0] ? name_width(rect) : rect.width, ROLE_HEADER, row->name);
		draw_cells(row, canvas, rect, y, ROLE_HEADER);
		break;
	case TRACE_ROW_TEXT:
		if (isnan(row->bar))
			canvas_text(canvas, rect.x, y, rect.width, row->role, row->name);
		else
			draw_bin(row, canvas, rect, y);
		break;
	case TRACE_ROW_ENTRY:
		canvas_text(canvas, rect.x, y, name_width(rect), is_match ? ROLE_KEY : row->role, name);
		draw_cells(row, canvas, rect, y, ROLE_NORMAL);
	}
}

void trace_page_draw(struct trace_page *page, struct canvas *canvas, struct rect rect)
{
	struct rect inside = parts_panel(canvas, rect, "", NULL, ROLE_TITLE);
	const char *from[SHOWN_MAX];
	char *to[SHOWN_MAX];
	char title[TRACE_TITLE_SIZE];
	canvas_printf(canvas, rect.x + (parts_is_roomy(canvas) ? 2 : 1), rect.y, rect.width - 4, ROLE_TITLE, " %s ",
		text_shorten(title, sizeof title, page->title, (size_t)(rect.width > 12 ? rect.width - 8 : 4)));
	rect_take_left(&inside, 1);
	rect_take_right(&inside, 1);
	bool is_resized = page->state.list.height != inside.height && page->state.list.height > 0;
	page->state.list = inside;
	settle(page);
	if (is_resized)
		make_visible(page);
	int shown = page->count - page->state.scroll < inside.height ? page->count - page->state.scroll : inside.height;
	shown = shown < SHOWN_MAX ? shown : SHOWN_MAX;
	char(*names)[TRACE_NAME_SIZE] = shown > 0 ? malloc((size_t)shown * sizeof *names) : NULL;
	for (int i = 0; names && i < shown; i++) {
		from[i] = page->rows[page->state.scroll + i].name;
		to[i] = names[i];
	}
	if (names)
		profile_shorten(
			from, (size_t)shown, (size_t)(name_width(inside) > 0 ? name_width(inside) : 0), to, sizeof *names);
	for (int i = 0; names && i < shown; i++) {
		draw_row(page, &page->rows[page->state.scroll + i], names[i], canvas, inside, inside.y + i);
		if (page->state.scroll + i == page->state.row)
			parts_select(canvas, rect_row(inside, i));
	}
	free(names);
}

/* -- keys -- */

/* Rows that only inform are scrolled past; the next entry is selected once it is in view. */
static void step(struct trace_page *page, int direction)
{
	int next = next_entry(page, page->state.row, direction);
	if (next < 0 || !is_visible(page, next))
		page->state.scroll += direction;
	settle(page);
	if (next >= 0 && is_visible(page, next))
		page->state.row = next;
}

/* Selects the first entry in view, if the selected one has left it; by PgUp the last one. */
static void scroll(struct trace_page *page, int rows)
{
	struct view_state *state = &page->state;
	state->scroll += rows;
	settle(page);
	int row =
		rows > 0 ? next_entry(page, state->scroll - 1, 1) : next_entry(page, state->scroll + state->list.height, -1);
	if (row >= 0 && is_visible(page, row) && !is_visible(page, state->row))
		state->row = row;
}

static void go_to(struct trace_page *page, int row)
{
	page->state.row = row >= 0 ? row : page->state.row;
	make_visible(page);
}

/* The first row of the page, or the last one; the nearest entry is selected. */
static void go_to_end(struct trace_page *page, bool is_last)
{
	go_to(page, is_last ? next_entry(page, page->count, -1) : next_entry(page, -1, 1));
	page->state.scroll = is_last ? page->count : 0;
	settle(page);
}

static bool find(struct trace_page *page, int direction)
{
	for (int i = 1, row = page->state.row; i <= page->count; i++) {
		row = (row + direction + page->count) % page->count;
		if (!is_entry(page, row) || !parts_matches(page->rows[row].name, page->state.search))
			continue;
		go_to(page, row);
		return true;
	}
	return false;
}

static bool click(struct trace_page *page, struct key_event event, struct trace_link *link)
{
	int row = page->state.scroll + event.y - page->state.list.y;
	if (!rect_has(page->state.list, event.x, event.y) || !is_entry(page, row))
		return false;
	if (row == page->state.row)
		*link = page->rows[row].link;
	page->state.row = row;
	return true;
}

bool trace_page_key(
	struct trace_page *page, struct key_event event, struct trace_link *link, char *message, size_t message_size)
{
	struct view_state *state = &page->state;
	int jump = state->list.height > 1 ? state->list.height - 1 : 1;
	switch (event.key) {
	case KEY_ARROW_UP:
	case KEY_WHEEL_UP:
	case 'k': step(page, -1); return true;
	case KEY_ARROW_DOWN:
	case KEY_WHEEL_DOWN:
	case 'j': step(page, 1); return true;
	case KEY_PAGE_UP: scroll(page, -jump); return true;
	case KEY_PAGE_DOWN: scroll(page, jump); return true;
	case KEY_TO_HOME: go_to_end(page, false); return true;
	case KEY_TO_END: go_to_end(page, true); return true;
	case KEY_CLICK: return click(page, event, link);
	case 'n':
	case 'N':
		if (state->search[0] && !find(page, event.key == 'n' ? 1 : -1))
			snprintf(message, message_size, "nothing here matches \"%s\"", state->search);
		return true;
	case KEY_RETURN:
		if (is_entry(page, state->row) && is_visible(page, state->row))
			*link = page->rows[state->row].link;
		if (link->kind == TRACE_LINK_NONE)
			snprintf(message, message_size, "this row has no details");
		return true;
	default: return false;
	}
}
