#include "ui/views/memory_snapshot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/trace/snapshot/snapshot_digest.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/widgets/parts.h"

enum line_cell { CELL_BYTES, CELL_SHARE, CELL_BLOCKS, CELL_GROWTH, CELL_LINE, CELL_CALLERS, CELLS };

/* Callers have a column of their own from this width on. */
enum { CALLERS_WIDTH = 100, SIDE_WIDTH = 180 };

static const struct table_column columns[CELLS] = {
	[CELL_BYTES] = { "BYTES", 9, 0, false, false },
	[CELL_SHARE] = { "SHARE", 6, 2, false, false },
	[CELL_BLOCKS] = { "BLOCKS", 7, 1, false, false },
	[CELL_GROWTH] = { "GROWTH", 10, 0, false, false },
	[CELL_LINE] = { "LINE", 22, 0, true, true },
};

bool memory_snapshot_is_open(const struct scene *scene) { return scene->snapshot && scene->state->is_open; }

static const char *clock_of(char out[NUMBER_SIZE], const struct scene *scene, int64_t realtime_ns)
{
	return parts_clock(out, scene, realtime_ns ? scene->now_ns + realtime_ns - scene->realtime_ns : 0);
}

void memory_snapshot_hint(const struct scene *scene, struct line *line, int rank)
{
	char text[NUMBER_SIZE];
	if (scene->snapshot)
		line_add(line, rank, ROLE_KEY, "T: snapshot of %s by line", clock_of(text, scene, scene->snapshot->taken_ns));
}

/* -- the order -- */

static double sort_value(const struct snapshot_digest_row *row, int column)
{
	switch (column) {
	case CELL_BLOCKS: return (double)row->live.blocks;
	case CELL_GROWTH: return (double)row->growth;
	default: return (double)row->live.bytes;
	}
}

struct order {
	size_t rows[SNAPSHOT_DIGEST_ROWS];
	size_t count;
};

/* By insertion: equal rows keep their order. */
static void sort_rows(const struct scene *scene, struct order *order)
{
	const struct snapshot_digest_list *list = &scene->snapshot->now;
	const struct view_state *state = scene->state;
	order->count = 0;
	for (size_t i = 0; i < list->count; i++) {
		size_t at = order->count++;
		double value = sort_value(&list->rows[i], state->sort);
		for (; at > 0; at--) {
			double before = sort_value(&list->rows[order->rows[at - 1]], state->sort);
			if (state->sort_ascending ? before <= value : before >= value)
				break;
			order->rows[at] = order->rows[at - 1];
		}
		order->rows[at] = i;
	}
}

/* -- drawing -- */

static void growth_text(const struct snapshot_digest_row *row, char out[NUMBER_SIZE])
{
	char number[NUMBER_SIZE - 4];
	format_bytes(out, fabs((double)row->growth));
	snprintf(number, sizeof number, "%.*s", (int)sizeof number - 1, out);
	snprintf(out, NUMBER_SIZE, "%s%s", row->growth < 0 ? "−" : "+", number);
}

static void draw_row(const struct scene *scene, const struct table *table, struct canvas *canvas, struct rect area,
	const struct snapshot_digest_row *row, uint64_t whole)
{
	char text[NUMBER_SIZE];
	bool has_growth = scene->snapshot->has_before && row->growth;
	table_cell(table, canvas, area.y, CELL_BYTES, ROLE_STRONG, format_bytes(text, (double)row->live.bytes));
	table_cell(table, canvas, area.y, CELL_SHARE, ROLE_NORMAL,
		format_percent(text, whole ? (double)row->live.bytes / (double)whole : NAN));
	table_cell(table, canvas, area.y, CELL_BLOCKS, ROLE_NORMAL,
		row->live.blocks || !row->live.bytes ? parts_thousands(text, (double)row->live.blocks) : "–");
	if (has_growth) {
		growth_text(row, text);
		table_cell(table, canvas, area.y, CELL_GROWTH, row->growth > 0 ? ROLE_WARNING : ROLE_NORMAL, text);
	}
	table_cell(table, canvas, area.y, CELL_LINE, ROLE_NORMAL, row->line);
	struct rect rest = area;
	rect_take_left(&rest, table->x[CELL_LINE] - area.x + table->width[CELL_LINE] + 2);
	if (area.width >= CALLERS_WIDTH && row->callers[0] && rest.width > 8) {
		canvas_text(canvas, rest.x, rest.y, 2, ROLE_DIM, "<");
		canvas_text(canvas, rest.x + 2, rest.y, rest.width - 2, ROLE_DIM, row->callers);
	}
}

/* Without what only one of both lists has. */
static void fit_table(struct table *table, struct rect area, bool has_growth)
{
	static struct table_column shown[CELL_LINE + 1];
	memcpy(shown, columns, sizeof shown);
	shown[CELL_GROWTH].width = has_growth ? columns[CELL_GROWTH].width : 0;
	if (area.width >= CALLERS_WIDTH)
		area.width = area.width * 3 / 5;
	table_fit(table, shown, CELL_LINE + 1, area);
}

static void draw_now(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct snapshot_digest *digest = scene->snapshot;
	struct view_state *state = scene->state;
	static struct order order;
	struct table table;
	char text[NUMBER_SIZE];
	struct line title;
	line_start(&title, " · ");
	if (digest->has_before)
		line_add(&title, 0, ROLE_NORMAL, "growth since %s", clock_of(text, scene, digest->before_ns));
	line_add(&title, 1, ROLE_DIM, "of lines of the program");
	rect = parts_panel(canvas, rect, "In use by line", &title, ROLE_TITLE);
	if (rect.height < 2)
		return;
	struct rect header = rect_take_top(&rect, 1);
	sort_rows(scene, &order);
	fit_table(&table, header, digest->has_before);
	table_header(&table, canvas, header.y, state->sort, state->sort_ascending);
	parts_list_settle(state, (int)order.count, rect.height);
	state->list = rect;
	for (int i = 0; i < rect.height && state->scroll + i < (int)order.count; i++) {
		struct rect row = rect_row(rect, i);
		draw_row(scene, &table, canvas, row, &digest->now.rows[order.rows[state->scroll + i]], digest->now.bytes);
		if (state->scroll + i == state->row)
			parts_select(canvas, row);
	}
}

static void draw_peak(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct snapshot_digest *digest = scene->snapshot;
	struct table table;
	char text[NUMBER_SIZE];
	struct line title;
	line_start(&title, " · ");
	if (digest->has_history) {
		line_add(&title, 0, ROLE_STRONG, "%s live", format_bytes(text, (double)digest->peak_live));
		line_add(&title, 2, ROLE_NORMAL, "%s reserved", format_bytes(text, (double)digest->peak_reserved));
		if (!isnan(digest->peak_before_s))
			line_add(&title, 1, ROLE_NORMAL, "%s before the end", format_seconds(text, digest->peak_before_s));
		if (digest->is_partial)
			line_add(&title, 3, ROLE_WARNING, "the history began later");
		line_add(&title, 4, ROLE_DIM, "GPU %d", (int)digest->peak_device);
	}
	rect = parts_panel(canvas, rect, "Live at the peak", &title, ROLE_TITLE);
	if (!digest->has_history) {
		parts_wrap(canvas, rect, ROLE_DIM,
			"Unknown: the program recorded no history. pmtop.torch.memory_history() in it records one.");
		return;
	}
	if (rect.height < 2)
		return;
	struct rect header = rect_take_top(&rect, 1);
	fit_table(&table, header, false);
	table_header(&table, canvas, header.y, -1, false);
	for (int i = 0; i < rect.height && i < (int)digest->peak.count; i++) {
		struct snapshot_digest_row row = digest->peak.rows[i];
		row.growth = 0;
		draw_row(scene, &table, canvas, rect_row(rect, i), &row, digest->peak.bytes);
	}
}

static void totals_line(const struct scene *scene, struct line *line)
{
	const struct snapshot_digest *digest = scene->snapshot;
	const struct snapshot_group *sum = &digest->sum;
	char text[NUMBER_SIZE], part[NUMBER_SIZE];
	double reserved = (double)sum->reserved;
	line_start(line, " · ");
	if (digest->loss[0])
		line_add(line, 0, ROLE_WARNING, "! %.120s", digest->loss);
	line_add(line, 0, ROLE_STRONG, "allocated %s", format_bytes(text, (double)(sum->requested + sum->rounding)));
	line_add(line, 1, ROLE_NORMAL, "reserved %s", format_bytes(text, reserved));
	line_add(line, 2, ROLE_NORMAL, "fragmented %s (%s)", format_bytes(text, (double)sum->split_bytes),
		format_percent(part, reserved > 0 ? (double)sum->split_bytes / reserved : NAN));
	line_add(line, 3, ROLE_NORMAL, "unused %s: empty_cache()", format_bytes(text, (double)sum->whole_bytes));
}

static void file_line(const struct scene *scene, struct line *line)
{
	const struct snapshot_digest *digest = scene->snapshot;
	const char *slash = strrchr(digest->path, '/');
	double age_s = (double)(scene->realtime_ns - digest->taken_ns) / 1e9;
	char text[NUMBER_SIZE], path[LINE_PIECE_SIZE];
	text_clean(path, sizeof path, slash ? slash + 1 : digest->path, strlen(slash ? slash + 1 : digest->path));
	line_start(line, " · ");
	line_add(line, 0, ROLE_NORMAL, "%s", clock_of(text, scene, digest->taken_ns));
	if (age_s >= 0)
		line_add(line, 1, ROLE_NORMAL, "%s ago", parts_waiting(text, age_s));
	line_add(line, 3, ROLE_DIM, "pmtop trace %s", path);
	line_add(line, 2, ROLE_KEY, "< > sort");
	line_add(line, 0, ROLE_KEY, "Esc back");
}

void memory_snapshot_draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct line line;
	int frame = parts_panel_rows(canvas);
	file_line(scene, &line);
	struct rect head = parts_panel(canvas, rect_take_top(&rect, frame + 1), "Memory snapshot", &line, ROLE_TITLE);
	rect_take_left(&head, 1);
	totals_line(scene, &line);
	line_draw(&line, canvas, head.x, head.y, head.width);
	if (rect.width >= SIDE_WIDTH)
		draw_peak(scene, canvas, rect_take_right(&rect, rect.width / 2));
	else
		draw_peak(
			scene, canvas, rect_take_bottom(&rect, scene->snapshot->has_history ? rect.height * 2 / 5 : frame + 1));
	draw_now(scene, canvas, rect);
}

/* -- keys, CSV -- */

bool memory_snapshot_key(struct scene *scene, struct key_event event)
{
	struct view_state *state = scene->state;
	if (event.key == KEY_ESC) {
		state->is_open = false;
		state->row = state->scroll = state->sort = 0;
		return true;
	}
	return parts_sort_key(state, event, CELL_LINE) ||
		parts_list_key(state, event, (int)scene->snapshot->now.count, state->list);
}

void memory_snapshot_write(const struct scene *scene, struct buffer *out)
{
	const struct snapshot_digest *digest = scene->snapshot;
	buffer_puts(out, "line,bytes,blocks,growth_bytes,callers\n");
	for (size_t i = 0; i < digest->now.count; i++) {
		const struct snapshot_digest_row *row = &digest->now.rows[i];
		parts_csv_text(out, true, row->line);
		parts_csv_number(out, false, (double)row->live.bytes);
		parts_csv_number(out, false, (double)row->live.blocks);
		parts_csv_number(out, false, digest->has_before ? (double)row->growth : NAN);
		parts_csv_text(out, false, row->callers);
		buffer_puts(out, "\n");
	}
}
