#include "ui/fleet/fleet_lists.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/fleet/fleet_output.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/widgets/parts.h"

/* -- scrolling -- */

static void settle(int *row, int *scroll, int count, int height)
{
	*row = *row >= count ? count - 1 : *row;
	*row = *row < 0 ? 0 : *row;
	if (*row < *scroll)
		*scroll = *row;
	if (*row >= *scroll + height)
		*scroll = *row - height + 1;
	if (*scroll > count - height)
		*scroll = count - height;
	*scroll = *scroll < 0 ? 0 : *scroll;
}

/* -- hosts -- */

enum { REASON_ROWS = 3, REASON_HEIGHT_MIN = 8 };

enum { HOST_NAME, HOST_STATE, HOST_RANKS, HOST_CLOCK, HOST_RATE, HOST_VERSION, HOST_REASON, HOST_COLUMNS };

static const struct table_column host_columns[HOST_COLUMNS] = {
	[HOST_NAME] = { "HOST", 20, 0, true, false },
	[HOST_STATE] = { "STATE", 8, 0, true, false },
	[HOST_RANKS] = { "RANKS", 5, 3, false, false },
	[HOST_CLOCK] = { "CLOCK", 20, 1, false, false },
	[HOST_RATE] = { "B/s", 8, 2, false, false },
	[HOST_VERSION] = { "pmtop", 7, 4, true, false },
	[HOST_REASON] = { "REASON", 20, 0, true, true },
};

static enum role host_role(enum fleet_host_state state)
{
	static const enum role roles[FLEET_HOST_STATE_COUNT] = { [FLEET_HOST_WAITING] = ROLE_DIM,
		[FLEET_HOST_STARTING] = ROLE_INFO,
		[FLEET_HOST_LIVE] = ROLE_GOOD,
		[FLEET_HOST_SILENT] = ROLE_WARNING,
		[FLEET_HOST_ENDED] = ROLE_CRITICAL };
	return roles[state];
}

static void draw_host(const struct table *table, struct canvas *canvas, int y, const struct fleet_host *host)
{
	char text[FLEET_WORDS_SIZE];
	table_cell(table, canvas, y, HOST_NAME, ROLE_NORMAL, host->name);
	table_cell(table, canvas, y, HOST_STATE, host_role(host->state), fleet_host_state_name(host->state));
	snprintf(text, sizeof text, "%u", host->rank_count);
	table_cell(table, canvas, y, HOST_RANKS, ROLE_NORMAL, text);
	table_cell(table, canvas, y, HOST_CLOCK, ROLE_NORMAL, fleet_words_clock(host, text));
	table_cell(table, canvas, y, HOST_RATE, ROLE_NORMAL, format_bytes(text, host->bytes_per_s));
	table_cell(table, canvas, y, HOST_VERSION, ROLE_DIM, host->version);
	table_cell(table, canvas, y, HOST_REASON, ROLE_NORMAL, fleet_words_reason(host, text));
}

/* The reason of the selected host, which its column may cut. */
static void draw_reason(struct canvas *canvas, struct rect rect, const struct fleet_host *host)
{
	char text[FLEET_NAME_SIZE + FLEET_REASON_SIZE + FLEET_WORDS_SIZE], retry[FLEET_WORDS_SIZE];
	snprintf(text, sizeof text, "%s: %s%s", host->name, host->reason, fleet_words_retry(host, retry));
	if (host->reason[0])
		parts_wrap(canvas, rect, ROLE_WARNING, text);
}

void fleet_hosts_draw(
	struct fleet_screen *screen, struct canvas *canvas, struct rect rect, const struct fleet *fleet, int64_t now_ns)
{
	(void)now_ns;
	struct fleet_host *const *hosts;
	int count = (int)fleet_hosts(fleet, &hosts);
	struct rect inside = canvas_box(canvas, rect, "Hosts", "Tab: ranks", ROLE_TITLE);
	struct rect reason = rect_take_bottom(&inside, inside.height >= REASON_HEIGHT_MIN ? REASON_ROWS : 0);
	struct table table;
	table_fit(&table, host_columns, HOST_COLUMNS, inside);
	table_header(&table, canvas, inside.y, -1, false);
	screen->list_top = inside.y + 1;
	screen->list_height = inside.height - 1;
	settle(&screen->host_row, &screen->host_scroll, count, screen->list_height);
	for (int i = 0; i < screen->list_height && screen->host_scroll + i < count; i++) {
		draw_host(&table, canvas, screen->list_top + i, hosts[screen->host_scroll + i]);
		if (screen->host_scroll + i == screen->host_row)
			parts_select(canvas, (struct rect){ inside.x, screen->list_top + i, inside.width, 1 });
	}
	if (screen->host_row < count)
		draw_reason(canvas, reason, hosts[screen->host_row]);
}

/* -- ranks -- */

enum {
	RANK_NAME,
	RANK_HOST,
	RANK_STATE,
	RANK_STEP,
	RANK_TIME,
	RANK_RATIO,
	RANK_OWN,
	RANK_WAIT,
	RANK_LOST,
	RANK_DATA,
	RANK_LATE,
	RANK_GPU,
	RANK_MEMORY,
	RANK_COLUMNS
};

static const struct table_column rank_columns[RANK_COLUMNS] = {
	[RANK_NAME] = { "RANK", 10, 0, true, false },
	[RANK_HOST] = { "HOST", 12, 2, true, false },
	[RANK_STATE] = { "STATE", 10, 1, true, false },
	[RANK_STEP] = { "STEP", 7, 5, false, false },
	[RANK_TIME] = { "TIME", 8, 3, false, false },
	[RANK_RATIO] = { "\303\227M", 5, 0, false, false },
	[RANK_OWN] = { "OWN", 8, 6, false, false },
	[RANK_WAIT] = { "WAIT", 5, 4, false, false },
	[RANK_LOST] = { "LOST", 5, 4, false, false },
	[RANK_DATA] = { "DATA", 8, 9, false, false },
	[RANK_LATE] = { "LATE", 8, 7, false, false },
	[RANK_GPU] = { "GPU", 5, 8, false, false },
	[RANK_MEMORY] = { "MEMORY", 8, 10, false, false },
};

static enum role rank_role(enum fleet_rank_state state)
{
	return fleet_rank_is_problem(state) ? ROLE_WARNING : ROLE_NORMAL;
}

static void draw_rank(const struct table *table, struct canvas *canvas, int y, const struct fleet_row *row)
{
	char text[64];
	table_cell(table, canvas, y, RANK_NAME, ROLE_STRONG, fleet_row_name(row, text, sizeof text));
	table_cell(table, canvas, y, RANK_HOST, ROLE_NORMAL, row->host->name);
	table_cell(table, canvas, y, RANK_STATE, rank_role(row->state), fleet_rank_state_name(row->state));
	snprintf(text, sizeof text, row->has_steps ? "%" PRIu64 : "\342\200\223", row->step);
	table_cell(table, canvas, y, RANK_STEP, ROLE_NORMAL, text);
	table_cell(table, canvas, y, RANK_TIME, ROLE_NORMAL, format_fixed_seconds(text, row->step_s));
	snprintf(text, sizeof text, isfinite(row->ratio) ? "%.2f" : "\342\200\223", row->ratio);
	table_cell(table, canvas, y, RANK_RATIO, ROLE_STRONG, text);
	table_cell(table, canvas, y, RANK_OWN, ROLE_NORMAL, format_fixed_seconds(text, row->own_s));
	table_cell(table, canvas, y, RANK_WAIT, ROLE_NORMAL, format_percent(text, row->wait_ratio));
	table_cell(table, canvas, y, RANK_LOST, ROLE_NORMAL, format_percent(text, row->lost_ratio));
	table_cell(table, canvas, y, RANK_DATA, ROLE_NORMAL, format_fixed_seconds(text, row->data_s));
	table_cell(table, canvas, y, RANK_LATE, ROLE_NORMAL, format_fixed_seconds(text, row->late_s));
	table_cell(table, canvas, y, RANK_GPU, ROLE_NORMAL, format_percent(text, row->rank->gpu_busy_ratio));
	table_cell(table, canvas, y, RANK_MEMORY, ROLE_NORMAL, format_bytes(text, row->rank->resident_bytes));
}

/* -- the heat map -- */

enum { MAP_ROWS_MAX = 512 };

static const struct {
	uint32_t code;
	enum role role;
} heats[FLEET_HEAT_COUNT] = {
	[FLEET_HEAT_NONE] = { ' ', ROLE_DIM },
	[FLEET_HEAT_USUAL] = { 0xb7, ROLE_DIM },
	[FLEET_HEAT_WARM] = { '-', ROLE_INFO },
	[FLEET_HEAT_SLOW] = { '+', ROLE_WARNING },
	[FLEET_HEAT_HOT] = { '#', ROLE_CRITICAL },
};

static void draw_map(
	const struct fleet_screen *screen, struct canvas *canvas, struct rect map, struct fleet_view *view, int64_t now_ns)
{
	enum fleet_heat column[MAP_ROWS_MAX];
	int64_t newest = now_ns / FLEET_COLUMN_NS;
	int rows = map.height < MAP_ROWS_MAX ? map.height : MAP_ROWS_MAX;
	for (int x = 0; x < map.width; x++) {
		fleet_view_column(view, newest - (map.width - 1 - x), (size_t)screen->scroll, (size_t)rows, column);
		for (int y = 0; y < rows; y++)
			canvas_put(canvas, map.x + x, map.y + y, heats[column[y]].code, heats[column[y]].role);
	}
}

/* "60 s ago" at the left, "now" at the right. */
static void draw_scale(struct canvas *canvas, struct rect row)
{
	char text[32];
	snprintf(text, sizeof text, "%d s ago", row.width);
	if (row.width > 16)
		canvas_text(canvas, row.x, row.y, row.width, ROLE_DIM, text);
	canvas_text_right(canvas, row.x, row.y, row.width, ROLE_DIM, "now");
}

static int width_of_map(int width)
{
	return width >= 160 ? width - 121 : width >= 100 ? width / 2 - 6 : width / 2 - 10;
}

static void find_selected(struct fleet_screen *screen, const struct fleet_view *view)
{
	for (size_t i = 0; screen->rank && i < view->count; i++)
		if (view->rows[i].rank == screen->rank) {
			screen->row = (int)i;
			return;
		}
}

void fleet_ranks_draw(
	struct fleet_screen *screen, struct canvas *canvas, struct rect rect, struct fleet_view *view, int64_t now_ns)
{
	char title[64];
	snprintf(title, sizeof title, "Ranks \302\267 by %s", fleet_sort_name(screen->sort));
	struct rect inside = canvas_box(
		canvas, rect, title, "\302\267 usual  - > 1.1 \303\227 median  + > 1.5 \303\227  # > 2 \303\227", ROLE_TITLE);
	struct rect map = rect_take_right(&inside, width_of_map(inside.width));
	struct table table;
	map = (struct rect){ map.x, map.y, map.width, map.height };
	draw_scale(canvas, rect_take_top(&map, 1));
	table_fit(&table, rank_columns, RANK_COLUMNS, inside);
	table_header(&table, canvas, inside.y, -1, false);
	screen->list_top = inside.y + 1;
	screen->list_height = inside.height - 1;
	find_selected(screen, view);
	settle(&screen->row, &screen->scroll, (int)view->count, screen->list_height);
	draw_map(screen, canvas, map, view, now_ns);
	for (int i = 0; i < screen->list_height && (size_t)(screen->scroll + i) < view->count; i++) {
		draw_rank(&table, canvas, screen->list_top + i, &view->rows[screen->scroll + i]);
		if (screen->scroll + i == screen->row)
			parts_select(canvas, (struct rect){ inside.x, screen->list_top + i, inside.width, 1 });
	}
}
