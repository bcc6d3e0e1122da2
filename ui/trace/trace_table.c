#include "ui/trace/trace_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/trace/output/profile_shorten.h"
#include "ui/core/layout.h"
#include "ui/trace/trace_scene.h"
#include "ui/widgets/parts.h"

enum { SHOWN_MAX = 256 };

/* -- rows in order -- */

static bool is_text(enum trace_form form) { return form == TRACE_TEXT || form == TRACE_NAME; }

static double value_at(const struct trace_table *table, const struct trace_list *list, uint32_t row, int column)
{
	return list->values[(size_t)row * (size_t)table->column_count + (size_t)column];
}

struct comparison {
	const struct trace_scene *scene;
	const struct trace_table *table;
	const struct trace_list *list;
};

static int by_text(const struct comparison *by, uint32_t a, uint32_t b)
{
	char x[TRACE_TEXT_SIZE], y[TRACE_TEXT_SIZE];
	by->table->text(by->scene, a, by->list->state.sort, x);
	by->table->text(by->scene, b, by->list->state.sort, y);
	return strcmp(x, y);
}

/* Of rows whose numbers are equal. */
static int by_tie(const struct comparison *by, uint32_t i, uint32_t k)
{
	int column = by->table->tie_column;
	double x = column ? value_at(by->table, by->list, i, column) : 0,
		   y = column ? value_at(by->table, by->list, k, column) : 0;
	return x > y ? -1 : x < y ? 1 : (i > k) - (i < k);
}

/* Unknown values come last in both directions. */
static int compare(const void *a, const void *b, void *context)
{
	const struct comparison *by = context;
	const struct view_state *state = &by->list->state;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int order = 0;
	bool is_name = by->table->position && by->table->columns[state->sort].form == TRACE_NAME;
	double here = is_name ? by->table->position(by->scene, i) : NAN;
	if (!isnan(here)) {
		double there = by->table->position(by->scene, k);
		order = (here > there) - (here < there);
	} else if (is_text(by->table->columns[state->sort].form)) {
		order = by_text(by, i, k);
	} else {
		double x = value_at(by->table, by->list, i, state->sort), y = value_at(by->table, by->list, k, state->sort);
		if (isnan(x) || isnan(y))
			return isnan(x) && isnan(y) ? by_tie(by, i, k) : isnan(x) - isnan(y);
		if (x <= y && x >= y)
			return by_tie(by, i, k);
		order = x > y ? 1 : -1;
	}
	order = state->sort_ascending ? order : -order;
	return order ? order : (i > k) - (i < k);
}

static void fill_cell(
	const struct trace_scene *scene, const struct trace_table *table, struct trace_list *list, uint32_t row, int column)
{
	char text[TRACE_TEXT_SIZE] = "";
	double *value = &list->values[(size_t)row * (size_t)table->column_count + (size_t)column];
	*value = NAN;
	if (!is_text(table->columns[column].form))
		*value = table->value(scene, row, column);
	else if (!list->is_known[column])
		table->text(scene, row, column, text);
	list->is_known[column] |= text[0] || !isnan(*value);
	if (*value > list->max[column])
		list->max[column] = *value;
}

static bool fill(const struct trace_scene *scene, const struct trace_table *table, struct trace_list *list)
{
	uint32_t count = table->count(scene);
	list->count = list->found = 0;
	list->values = malloc(((size_t)count * (size_t)table->column_count + 1) * sizeof *list->values);
	list->order = malloc((count + 1) * sizeof *list->order);
	memset(list->max, 0, sizeof list->max);
	memset(list->is_known, 0, sizeof list->is_known);
	if (!list->values || !list->order)
		return false;
	for (uint32_t row = 0; row < count; row++) {
		if (table->has && !table->has(scene, row))
			continue;
		list->order[list->found++] = row;
		for (int column = 0; column < table->column_count; column++)
			fill_cell(scene, table, list, row, column);
	}
	return true;
}

bool trace_table_fill(const struct trace_scene *scene, const struct trace_table *table, struct trace_list *list)
{
	if (!list->is_filled) {
		if (!list->state.chosen) {
			list->state.sort = table->sort(scene);
			list->state.sort_ascending = is_text(table->columns[list->state.sort].form);
		}
		list->is_filled = fill(scene, table, list);
		list->is_sorted = false;
		if (!list->is_filled)
			trace_list_forget(list);
	}
	if (list->is_filled && !list->is_sorted && list->found) {
		struct comparison by = { scene, table, list };
		qsort_r(list->order, list->found, sizeof *list->order, compare, &by);
	}
	list->count = scene->limit && scene->limit < list->found ? scene->limit : list->found;
	list->is_sorted = list->is_filled;
	return list->is_filled;
}

void trace_list_forget(struct trace_list *list)
{
	free(list->values);
	free(list->order);
	list->values = NULL;
	list->order = NULL;
	list->count = list->found = 0;
	list->is_filled = list->is_sorted = false;
	list->state.row = list->state.scroll = 0;
}

/* -- drawing -- */

double trace_time_like(double max)
{
	static const struct {
		double from, like;
	} likes[] = { { 0.02, 0.002 }, { 0.001, 0.0002 }, { 2e-5, 2e-5 }, { 0, 0 } };
	if (max >= 1)
		return max;
	for (size_t i = 0; i < sizeof likes / sizeof *likes; i++)
		if (max >= likes[i].from)
			return likes[i].like;
	return 0;
}

/* One unit for the column. */
static const char *time_text(char out[NUMBER_SIZE], double seconds, double max, int width)
{
	if (!(max > 0))
		return format_seconds(out, seconds);
	parts_time(out, seconds, trace_time_like(max));
	return (int)text_cells(out) <= width ? out : format_seconds(out, seconds);
}

static const char *number_text(
	const struct trace_column *column, double value, double max, int width, char out[NUMBER_SIZE])
{
	switch (column->form) {
	case TRACE_COUNT: return parts_thousands(out, value);
	case TRACE_TIME: return time_text(out, value, max, width);
	case TRACE_RATIO: return format_percent(out, value);
	case TRACE_BYTES: return format_bytes(out, value);
	case TRACE_RATE: return parts_bytes_per_s(out, value);
	default: return format_rate(out, value);
	}
}

static void draw_numbers(const struct trace_scene *scene, const struct trace_table *table,
	const struct trace_list *list, struct canvas *canvas, int y, uint32_t row)
{
	for (int column = 0; column < table->column_count; column++) {
		const struct trace_column *shown = &table->columns[column];
		int width = list->table.width[column];
		double value = value_at(table, list, row, column);
		enum role role = table->role     ? table->role(scene, row, column)
			: value == 0                 ? ROLE_DIM
			: column == list->state.sort ? ROLE_STRONG
										 : ROLE_NORMAL;
		char number[NUMBER_SIZE];
		if (!width || is_text(shown->form))
			continue;
		if (shown->form == TRACE_BAR)
			canvas_bar(canvas, list->table.x[column], y, width, value / list->max[column], ROLE_PLOT);
		else
			table_cell(
				&list->table, canvas, y, column, role, number_text(shown, value, list->max[column], width, number));
	}
}

static bool is_match(const struct trace_scene *scene, const struct trace_table *table, uint32_t row, const char *search)
{
	char text[TRACE_TEXT_SIZE];
	for (int column = 0; column < table->column_count && search[0]; column++)
		if (is_text(table->columns[column].form)) {
			table->text(scene, row, column, text);
			if (parts_matches(text, search))
				return true;
		}
	return false;
}

/* A column of texts for all rows that are shown: names are shortened beside each other. */
static void draw_texts(const struct trace_scene *scene, const struct trace_table *table, const struct trace_list *list,
	struct canvas *canvas, struct rect rect, int column)
{
	static const char none[] = "–";
	enum { SIZE = TRACE_TEXT_SIZE };
	int width = list->table.width[column], count = 0;
	char(*texts)[SIZE] = calloc(2 * (size_t)SHOWN_MAX, SIZE);
	const char *from[SHOWN_MAX];
	char *to[SHOWN_MAX];
	for (int i = 0; texts && i < rect.height && i < SHOWN_MAX && list->state.scroll + i < (int)list->count; i++) {
		table->text(scene, list->order[list->state.scroll + i], column, texts[i]);
		from[count] = texts[i][0] ? texts[i] : none;
		to[count++] = texts[SHOWN_MAX + i];
	}
	profile_shorten(from, (size_t)count, (size_t)width, to, SIZE);
	for (int i = 0; i < count; i++) {
		uint32_t row = list->order[list->state.scroll + i];
		enum role role = is_match(scene, table, row, list->state.search) ? ROLE_KEY
			: table->role                                                ? table->role(scene, row, column)
			: column == 0 || table->columns[column].shown.takes_rest     ? ROLE_NORMAL
																		 : ROLE_DIM;
		table_cell(&list->table, canvas, rect.y + i, column, role,
			table->columns[column].form == TRACE_NAME ? to[i] : from[i]);
	}
	free(texts);
}

static void draw_rows(const struct trace_scene *scene, const struct trace_table *table, const struct trace_list *list,
	struct canvas *canvas, struct rect rect)
{
	for (int column = 0; column < table->column_count; column++)
		if (is_text(table->columns[column].form) && list->table.width[column])
			draw_texts(scene, table, list, canvas, rect, column);
	for (int i = 0; i < rect.height && list->state.scroll + i < (int)list->count; i++) {
		draw_numbers(scene, table, list, canvas, rect.y + i, list->order[list->state.scroll + i]);
		if (list->state.scroll + i == list->state.row)
			parts_select(canvas, rect_row(rect, i));
	}
}

void trace_table_draw(struct trace_scene *scene, const struct trace_table *table, struct trace_list *list,
	struct canvas *canvas, struct rect rect)
{
	struct table_column columns[TABLE_COLUMNS_MAX];
	struct line about;
	char count[NUMBER_SIZE];
	if (!trace_table_fill(scene, table, list))
		return;
	line_start(&about, " · ");
	line_add(&about, 0, ROLE_NORMAL, "%s", parts_thousands(count, (double)list->count));
	if (list->count < list->found)
		line_add(&about, 0, ROLE_NORMAL, "of %s", parts_thousands(count, (double)list->found));
	if (table->about)
		table->about(scene, &about);
	struct rect inside = parts_panel(canvas, rect, table->title, &about, ROLE_TITLE);
	if (parts_is_roomy(canvas))
		rect_take_left(&inside, 1);
	struct rect header = rect_take_top(&inside, 1);
	for (int column = 0; column < table->column_count; column++) {
		columns[column] = table->columns[column].shown;
		columns[column].width = list->is_known[column] ? columns[column].width : 0;
	}
	table_fit(&list->table, columns, table->column_count, inside);
	if (header.height > 0)
		table_header(&list->table, canvas, header.y, list->state.sort, list->state.sort_ascending);
	parts_list_settle(&list->state, (int)list->count, inside.height);
	list->state.list = inside;
	draw_rows(scene, table, list, canvas, inside);
	list->table.columns = NULL;
}

/* -- keys -- */

/* A new column begins in the order that people want first: texts from A, numbers from the largest. */
static void sort_by(const struct trace_table *table, struct trace_list *list, int column)
{
	list->state.sort = column;
	list->state.sort_ascending = is_text(table->columns[column].form);
	list->state.chosen = 1;
	list->is_sorted = false;
	list->state.row = list->state.scroll = 0;
}

static bool can_sort(const struct trace_table *table, const struct trace_list *list, int column)
{
	return table->columns[column].form != TRACE_BAR && list->is_known[column] &&
		(list->table.count == 0 || list->table.width[column] > 0);
}

/* Columns that are left out for want of room are passed over. */
static void sort_next(const struct trace_table *table, struct trace_list *list, int step)
{
	int column = list->state.sort;
	for (int i = 0; i < table->column_count; i++) {
		column = (column + step + table->column_count) % table->column_count;
		if (can_sort(table, list, column))
			break;
	}
	sort_by(table, list, column);
}

static bool click(
	struct trace_scene *scene, const struct trace_table *table, struct trace_list *list, struct key_event event)
{
	struct view_state *state = &list->state;
	int before = state->row;
	if (state->list.height > 0 && event.y == state->list.y - 1) {
		int column = table_column_at(&list->table, event.x);
		if (column < 0 || !can_sort(table, list, column))
			return true;
		bool is_ascending = column == state->sort && !state->sort_ascending, is_same = column == state->sort;
		sort_by(table, list, column);
		if (is_same)
			state->sort_ascending = is_ascending;
		return true;
	}
	if (!parts_list_key(state, event, (int)list->count, state->list))
		return false;
	if (state->row == before && table->open)
		table->open(scene, list->order[state->row]);
	return true;
}

static void find(
	struct trace_scene *scene, const struct trace_table *table, struct trace_list *list, struct key_event event)
{
	int count = (int)list->count, step = event.key == 'n' ? 1 : count - 1;
	for (int i = 1, row = list->state.row; i <= count; i++) {
		row = (row + step) % count;
		if (!is_match(scene, table, list->order[row], list->state.search))
			continue;
		list->state.row = row;
		return;
	}
	snprintf(scene->message, sizeof scene->message, "no %s matches \"%s\"", table->what, list->state.search);
}

bool trace_table_key(
	struct trace_scene *scene, const struct trace_table *table, struct trace_list *list, struct key_event event)
{
	if (!trace_table_fill(scene, table, list) || !list->count)
		return false;
	switch (event.key) {
	case 's':
	case '>': sort_next(table, list, 1); return true;
	case 'S':
	case '<': sort_next(table, list, -1); return true;
	case 'I':
		list->state.sort_ascending = !list->state.sort_ascending;
		list->is_sorted = false;
		return true;
	case 'n':
	case 'N':
		if (list->state.search[0])
			find(scene, table, list, event);
		return list->state.search[0] != '\0';
	case KEY_RETURN:
		if (table->open)
			table->open(scene, list->order[list->state.row]);
		return true;
	case KEY_CLICK: return click(scene, table, list, event);
	default: return parts_list_key(&list->state, event, (int)list->count, list->state.list);
	}
}
