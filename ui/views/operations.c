/* Operations: the guides' PERFORMANCE SUMMARY and AGGREGATE STATISTICS, live: every span name, nested, with
 * unattributed time as a row. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"

enum operation_cell {
	CELL_NAME,
	CELL_COUNT,
	CELL_TOTAL,
	CELL_SELF,
	CELL_MEAN,
	CELL_MIN,
	CELL_MAX,
	CELL_P95,
	CELL_CPU,
	CELL_SHARE,
	CELL_BAR,
	CELLS
};

static const struct table_column columns[CELLS] = {
	[CELL_NAME] = { "OPERATION", 18, 0, true, true },
	[CELL_COUNT] = { "COUNT", 8, 2, false, false },
	[CELL_TOTAL] = { "TOTAL", 9, 1, false, false },
	[CELL_SELF] = { "SELF", 9, 4, false, false },
	[CELL_MEAN] = { "MEAN", 9, 0, false, false },
	[CELL_MIN] = { "MIN", 9, 5, false, false },
	[CELL_MAX] = { "MAX", 9, 2, false, false },
	[CELL_P95] = { "P95", 9, 2, false, false },
	[CELL_CPU] = { "CPU", 9, 6, false, false },
	[CELL_SHARE] = { "SHARE", 6, 0, false, false },
	[CELL_BAR] = { "", 12, 7, true, false },
};

enum { OPERATIONS_MAX = 1024 };

static double sort_value(const struct operation *operation, int column)
{
	switch (column) {
	case CELL_COUNT: return (double)operation->count;
	case CELL_TOTAL: return operation->total_s;
	case CELL_SELF: return operation->self_s;
	case CELL_MEAN: return operation->mean_s;
	case CELL_MIN: return operation->min_s;
	case CELL_MAX: return operation->max_s;
	case CELL_P95: return operation->p95_s;
	case CELL_CPU: return operation->cpu_s;
	case CELL_SHARE: return operation->share_ratio;
	default: return 0;
	}
}

/* Sorts rows of one parent: modes stay together, unknown values come last, equal rows keep their order. */
static bool comes_before(const struct run *run, size_t left, size_t right, const struct view_state *state)
{
	const struct operation *a = &run->operations[left], *b = &run->operations[right];
	double x = sort_value(a, state->sort), y = sort_value(b, state->sort);
	if (a->mode != b->mode)
		return false;
	if (state->sort == CELL_NAME) {
		int order = strcmp(run_name(run, a->name), run_name(run, b->name));

		return state->sort_ascending && order < 0;
	}
	if (isnan(x) || isnan(y))
		return !isnan(x) && isnan(y);
	return state->sort_ascending ? x < y : x > y;
}

enum { DEPTH_MAX = 48 };

struct order {
	size_t count;
	uint16_t rows[OPERATIONS_MAX];
};

/* The row after `at` and its nested rows. */
static size_t past_children(const struct run *run, size_t at, size_t to)
{
	size_t end = at + 1;
	while (end < to && run->operations[end].depth > run->operations[at].depth)
		end++;
	return end;
}

/* Adds the rows in [from, to): outermost ones sorted, each followed by its sorted children. */
static void add_sorted(
	const struct run *run, const struct view_state *state, size_t from, size_t to, int depth, struct order *order)
{
	uint16_t siblings[OPERATIONS_MAX];
	size_t count = 0;
	for (size_t i = from; i < to; i = past_children(run, i, to)) {
		size_t at = count++;

		for (; at > 0 && comes_before(run, i, siblings[at - 1], state); at--)
			siblings[at] = siblings[at - 1];
		siblings[at] = (uint16_t)i;
	}
	for (size_t i = 0; i < count; i++) {
		size_t end = past_children(run, siblings[i], to);

		order->rows[order->count++] = siblings[i];
		if (depth < DEPTH_MAX)
			add_sorted(run, state, siblings[i] + 1u, end, depth + 1, order);
		for (size_t row = siblings[i] + 1u; depth == DEPTH_MAX && row < end; row++)
			order->rows[order->count++] = (uint16_t)row;
	}
}

static void sort_rows(const struct run *run, const struct view_state *state, struct order *order)
{
	size_t count = run->operation_count < OPERATIONS_MAX ? run->operation_count : OPERATIONS_MAX;
	order->count = 0;
	if (state->sort != CELL_NAME || state->sort_ascending) {
		add_sorted(run, state, 0, count, 0, order);
		return;
	}
	for (size_t i = 0; i < count; i++)
		order->rows[order->count++] = (uint16_t)i;
}

/* -- drawing -- */

/* The magnitude of the time columns, so that each keeps one unit: totals and single times. */
struct likes {
	double total_s, single_s;
};

static struct likes likes_of(const struct run *run)
{
	struct likes likes = { 0, 0 };
	for (size_t i = 0; i < run->operation_count; i++) {
		const struct operation *operation = &run->operations[i];

		if (!is_main_mode(run, operation->mode))
			continue;
		likes.total_s = operation->total_s > likes.total_s ? operation->total_s : likes.total_s;
		likes.single_s = operation->mean_s > likes.single_s ? operation->mean_s : likes.single_s;
	}
	/* one unit finer than the largest value needs, so that small ones stay readable */
	likes.single_s /= 12;
	return likes;
}

static const char *cell_text(
	const struct operation *operation, enum operation_cell cell, const struct likes *likes, char out[NUMBER_SIZE])
{
	bool is_total = cell == CELL_TOTAL || cell == CELL_SELF || cell == CELL_CPU;
	if (cell == CELL_COUNT)
		return parts_thousands(out, (double)operation->count);
	if (cell == CELL_SHARE)
		return format_percent(out, operation->share_ratio);
	parts_time(out, sort_value(operation, (int)cell), is_total ? likes->total_s : likes->single_s);
	return (int)text_cells(out) <= columns[cell].width ? out : format_seconds(out, sort_value(operation, (int)cell));
}

/* "  decode", "forward (validation)". */
static void name_text(const struct run *run, const struct operation *operation, char *out, size_t size)
{
	int indent = 2 * (int)(operation->depth < 12 ? operation->depth : 12);
	bool is_main = is_main_mode(run, operation->mode);
	snprintf(out, size, is_main ? "%*s%s" : "%*s%s (%s)", indent, "", run_name(run, operation->name),
		is_main ? "" : run_name(run, operation->mode));
}

/* The column of names is as wide as the names. */
static void fit_columns(const struct run *run, struct rect rect, struct table *table, struct table_column fitted[CELLS])
{
	char text[300];
	memcpy(fitted, columns, sizeof columns);
	for (size_t i = 0; i < run->operation_count; i++) {
		name_text(run, &run->operations[i], text, sizeof text);
		int cells = (int)text_cells(text) + 2;

		if (cells > fitted[CELL_NAME].width)
			fitted[CELL_NAME].width = cells < 36 ? cells : 36;
	}
	table_fit(table, fitted, CELLS, rect);
}

static void draw_operation(const struct scene *scene, const struct run *run, const struct operation *operation,
	const struct likes *likes, const struct table *table, struct canvas *canvas, int y)
{
	const char *search = scene->state->search;
	bool is_match = search[0] != '\0' && parts_matches(run_name(run, operation->name), search);
	bool is_own_row = operation->name == NAME_UNATTRIBUTED || operation->name == NAME_BETWEEN;
	int x = table->x[CELL_NAME], width = table->width[CELL_NAME], used;
	char text[300];
	name_text(run, operation, text, sizeof text);
	used = canvas_text(canvas, x, y, width,
		is_match                                 ? ROLE_KEY
			: is_own_row || operation->depth > 0 ? ROLE_DIM
												 : ROLE_NORMAL,
		text);
	if (is_main_mode(run, operation->mode) && parts_is_warned(scene->alerts, scene->run, operation->name) &&
		used + 2 <= width)
		canvas_text(canvas, x + used + 1, y, 1, ROLE_WARNING, "⚠");
	for (int cell = CELL_COUNT; cell < CELL_BAR; cell++) {
		enum role role = cell == CELL_SHARE || cell == CELL_MEAN ? ROLE_STRONG
			: operation->depth > 0                               ? ROLE_DIM
																 : ROLE_NORMAL;

		table_cell(table, canvas, y, cell, role, cell_text(operation, (enum operation_cell)cell, likes, text));
	}
	if (table->width[CELL_BAR] > 0 && !isnan(operation->share_ratio))
		canvas_bar(canvas, table->x[CELL_BAR] + 1, y, table->width[CELL_BAR] - 1, operation->share_ratio,
			phase_role(run, operation->name));
}

static void operations_title(const struct run *run, struct line *line)
{
	const struct track *track = run_main(run);
	char text[NUMBER_SIZE];
	line_start(line, " · ");
	line_add(line, 0, ROLE_NORMAL, "whole run, %s steps", parts_thousands(text, (double)track->step.count));
	line_add(line, 1, ROLE_NORMAL, "total %s", format_seconds(text, track->step.total_s));
	line_add(line, 2, ROLE_NORMAL, "host clock");
	line_add(line, 3, ROLE_KEY, "<> sort  I reverse");
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct run *run = scene_run(scene);
	struct view_state *state = scene->state;
	struct table_column fitted[CELLS];
	struct order order;
	struct table table;
	struct line right;
	state->list = (struct rect){ 0, 0, 0, 0 };
	struct rect requests = rect_take_top(&rect, panel_requests_height(scene, canvas, rect.height));

	if (requests.height > 0)
		panel_requests(scene, canvas, requests);
	if (run && run->is_counted) {
		parts_note(canvas, rect, "Operations",
			"This run is not instrumented: pmtop infers its steps, and their phases from stack samples.\n"
			"[1] Overview shows where a step goes, [2] Batches the phases of one step, [7] Code the lines of Python.\n"
			"import pmtop.torch; pmtop.torch.instrument() before training adds rows here: data, forward, backward, "
			"optimizer.");
		return;
	}
	if (!run || run->operation_count == 0) {
		parts_note(canvas, rect, "Operations",
			run == NULL ? "This process is not instrumented. PMTOP_SPAN(pm, \"forward\") { … } in C or C++ adds a row; "
						  "[1] Overview shows process figures."
						: "This run has published no span yet: PMTOP_SPAN(pm, \"forward\") { … } adds a row.");
		return;
	}
	struct rect figures = rect_take_bottom(&rect, panel_figures_height(run, canvas, rect.height));
	int frame = parts_panel_rows(canvas), min = frame + 3, room = rect.height - (frame + 1 + (int)run->operation_count);
	struct rect epochs = rect_take_bottom(&rect,
		run->epoch_count == 0 || room < min ? 0
			: room > rect.height / 2        ? rect.height / 2
											: room);

	if (epochs.height > 0)
		panel_epochs(scene, run, canvas, epochs);
	if (figures.height > 0)
		panel_figures(run, canvas, figures);
	operations_title(run, &right);
	struct rect inside = parts_panel(canvas, rect, "Operations", &right, ROLE_TITLE),
				header = rect_take_top(&inside, 1);

	struct likes likes = likes_of(run);

	sort_rows(run, state, &order);
	fit_columns(run, inside, &table, fitted);
	if (header.height > 0)
		table_header(&table, canvas, header.y, state->sort, state->sort_ascending);
	parts_list_settle(state, (int)order.count, inside.height);
	state->list = inside;
	for (int i = 0; i < inside.height && state->scroll + i < (int)order.count; i++) {
		struct rect row = rect_row(inside, i);

		draw_operation(scene, run, &run->operations[order.rows[state->scroll + i]], &likes, &table, canvas, row.y);
		if (state->scroll + i == state->row)
			parts_select(canvas, row);
	}
}

/* -- keys -- */

struct listed {
	const struct run *run;
	const struct order *order;
};

static bool matches(const void *rows, int row, const char *search)
{
	const struct listed *listed = rows;
	return parts_matches(run_name(listed->run, listed->run->operations[listed->order->rows[row]].name), search);
}

static void find(struct scene *scene, const struct run *run, struct key_event event)
{
	struct order order;
	sort_rows(run, scene->state, &order);
	parts_list_find(scene, event, (int)order.count, "operation", matches, &(struct listed){ run, &order });
}

static bool click_header(const struct run *run, struct view_state *state, struct key_event event)
{
	struct table_column fitted[CELLS];
	struct table table;
	int column;
	if (event.y != state->list.y - 1 || state->list.height == 0)
		return false;
	fit_columns(run, state->list, &table, fitted);
	column = table_column_at(&table, event.x);
	if (column < 0 || column == CELL_BAR)
		return true;
	parts_sort_by(state, column);
	return true;
}

static bool key(struct scene *scene, struct key_event event, struct rect rect)
{
	const struct run *run = scene_run(scene);
	struct view_state *state = scene->state;
	(void)rect;
	if (!run || run->operation_count == 0)
		return false;
	switch (event.key) {
	case 'n':
	case 'N':
		if (state->search[0] == '\0')
			return false;
		find(scene, run, event);
		return true;
	case KEY_CLICK:
		if (click_header(run, state, event))
			return true;
		break;
	default: break;
	}
	return parts_sort_key(state, event, CELL_BAR) ||
		parts_list_key(state, event, (int)run->operation_count, state->list);
}

static void write(const struct scene *scene, struct buffer *out)
{
	const struct run *run = scene_run(scene);
	struct order order;
	if (!run)
		return;
	sort_rows(run, scene->state, &order);
	buffer_puts(out, "mode,operation,parent,depth,count,total_s,self_s,mean_s,min_s,max_s,p95_s,cpu_s,share_ratio\n");
	for (size_t i = 0; i < order.count; i++) {
		const struct operation *operation = &run->operations[order.rows[i]];

		parts_csv_text(out, true, run_name(run, operation->mode));
		parts_csv_text(out, false, run_name(run, operation->name));
		parts_csv_text(out, false, operation->parent != NAME_NONE ? run_name(run, operation->parent) : "");
		parts_csv_integer(out, false, operation->depth);
		parts_csv_integer(out, false, (int64_t)operation->count);
		for (int cell = CELL_TOTAL; cell < CELL_BAR; cell++)
			parts_csv_number(out, false, sort_value(operation, cell));
		buffer_puts(out, "\n");
	}
}

const struct view operations_view = {
	.name = "Operations",
	.short_name = "Ops",
	.digit = '3',
	.keys = "q quit  Tab view  ↑↓ row  <> sort  I reverse  / search  n/N next match  Space pause  w save CSV  ? help",
	.keys_short = "q quit  Tab view  <> sort  I reverse  / search  w save CSV  ? help",
	.can_search = true,
	.draw = draw,
	.key = key,
	.write = write,
};
