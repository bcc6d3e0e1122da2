#include "ui/fleet/fleet_screen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/fleet/fleet_output.h"
#include "ui/core/layout.h"
#include "ui/core/line.h"
#include "ui/fleet/fleet_lists.h"
#include "ui/widgets/chrome.h"
#include "ui/widgets/parts.h"

enum { NARROW = 40, LOW = 8 };

static const char help_text[] =
	"Each row is a rank, each column a second: how long its steps took, relative to the median of all ranks.\n"
	"\302\267 usual   - above 1.1 times   + above 1.5 times   # above twice   blank: no step finished\n"
	"\303\227M: the step, or where ranks wait for each other the own time of the rank, divided by the median of all.\n"
	"WAIT: share of its step in which the rank waits for others.\n"
	"LOST: share of the time of all ranks in which they wait for this one.\n"
	"LATE: how much later the rank begins a step than the first rank.\n"
	"Enter opens the views of the rank; there Esc or q comes back.\n"
	"Tab: ranks or hosts   < > sort   n next rank that needs attention   q quit\n"
	"pmtop-fleet(1) has more.";

/* -- frame -- */

static void draw_header(
	struct canvas *canvas, const struct fleet *fleet, const struct fleet_view *view, int64_t clock_ns)
{
	char words[FLEET_WORDS_SIZE], time[16];
	struct fleet_host *const *hosts;
	size_t count = fleet_hosts(fleet, &hosts);
	struct line left, right;
	struct tm parts;
	time_t seconds = (time_t)(clock_ns / NS_PER_S);
	canvas_fill(canvas, (struct rect){ 0, 0, canvas->width, 1 }, ' ', ROLE_HEADER);
	line_start(&right, "  ");
	line_add(&right, 1, ROLE_HEADER, "%s", fleet_words_self(fleet, words));
	if (localtime_r(&seconds, &parts) && strftime(time, sizeof time, "%H:%M", &parts))
		line_add(&right, 2, ROLE_HEADER, "%s", time);
	line_start(&left, " \302\267 ");
	line_add(&left, 0, ROLE_HEADER, "fleet");
	line_add(&left, 1, ROLE_HEADER, "%s", fleet_words_hosts(view, count, words));
	int used = line_draw(&left, canvas, 1, 0, canvas->width - 2);
	line_draw_right(&right, canvas, used + 3, 0, canvas->width - used - 4);
}

static void draw_totals(struct canvas *canvas, struct rect row, const struct fleet_view *view)
{
	char number[NUMBER_SIZE];
	struct line line;
	line_start(&line, " \302\267 ");
	line_add(&line, 0, ROLE_STRONG, "%zu rank%s", view->count, view->count == 1 ? "" : "s");
	if (view->problem_count)
		line_add(&line, 0, ROLE_WARNING, "\342\232\240 %zu need%s attention", view->problem_count,
			view->problem_count == 1 ? "s" : "");
	line_add(&line, 1, ROLE_NORMAL, "median step %s", format_fixed_seconds(number, view->median_step_s));
	if (view->is_synchronous)
		line_add(
			&line, 2, ROLE_NORMAL, "synchronous: own time, median %s", format_fixed_seconds(number, view->median_s));
	if (isfinite(view->lost_ratio))
		line_add(&line, 2, ROLE_NORMAL, "lost time %s", format_percent(number, view->lost_ratio));
	line_add(&line, 3, ROLE_NORMAL, "clocks \302\261%s", format_seconds(number, view->clock_error_s));
	line_draw(&line, canvas, row.x + 1, row.y, row.width - 2);
}

static void draw_last_line(struct canvas *canvas, const struct fleet_screen *screen, struct rect row)
{
	if (screen->message[0])
		canvas_text(canvas, row.x + 1, row.y, row.width - 2, ROLE_WARNING, screen->message);
	else
		chrome_hints(canvas, row,
			screen->shows_hosts ? "q quit  Tab ranks  ? help"
								: "q quit  Enter open  Tab hosts  < > sort  n attention  ? help");
}

void fleet_screen_draw(struct fleet_screen *screen, struct canvas *canvas, const struct fleet *fleet,
	struct fleet_view *view, int64_t now_ns, int64_t clock_ns)
{
	struct rect rest = { 0, 0, canvas->width, canvas->height };
	canvas_clear(canvas);
	draw_header(canvas, fleet, view, clock_ns);
	rect_take_top(&rest, 1);
	if (canvas->width < NARROW || canvas->height < LOW)
		return;
	draw_totals(canvas, rect_take_top(&rest, 1), view);
	draw_last_line(canvas, screen, rect_take_bottom(&rest, 1));
	if (screen->has_help)
		parts_note(canvas, rest, "Fleet", help_text);
	else if (screen->shows_hosts || !view->count)
		fleet_hosts_draw(screen, canvas, rest, fleet, now_ns);
	else
		fleet_ranks_draw(screen, canvas, rest, view, now_ns);
}

/* -- keys -- */

const struct fleet_row *fleet_screen_row(const struct fleet_screen *screen, const struct fleet_view *view)
{
	return screen->row >= 0 && (size_t)screen->row < view->count ? &view->rows[screen->row] : NULL;
}

static void select_row(struct fleet_screen *screen, const struct fleet_view *view, int row)
{
	int count = (int)view->count;
	screen->row = row < 0 ? 0 : row >= count ? count - 1 : row;
	screen->row = screen->row < 0 ? 0 : screen->row;
	const struct fleet_row *selected = fleet_screen_row(screen, view);
	/* The first row stays the first: a person who watches the slowest rank wants to see the slowest. */
	screen->rank = selected && screen->row > 0 ? selected->rank : NULL;
}

static void next_problem(struct fleet_screen *screen, const struct fleet_view *view)
{
	for (size_t i = 1; i <= view->count; i++) {
		size_t row = ((size_t)screen->row + i) % view->count;
		if (fleet_rank_is_problem(view->rows[row].state)) {
			select_row(screen, view, (int)row);
			return;
		}
	}
	snprintf(screen->message, sizeof screen->message, "no rank needs attention");
}

static void move(struct fleet_screen *screen, const struct fleet *fleet, const struct fleet_view *view, int by)
{
	struct fleet_host *const *hosts;
	int count = (int)fleet_hosts(fleet, &hosts);
	if (!screen->shows_hosts) {
		select_row(screen, view, screen->row + by);
		return;
	}
	int row = screen->host_row + by;
	screen->host_row = row < 0 ? 0 : row >= count ? count - 1 : row;
}

static bool move_key(
	struct fleet_screen *screen, struct key_event event, const struct fleet *fleet, const struct fleet_view *view)
{
	int page = screen->list_height > 1 ? screen->list_height - 1 : 1;
	int all = FLEET_HOSTS_MAX * FLEET_HOST_RANKS;
	switch (event.key) {
	case KEY_ARROW_UP:
	case 'k': move(screen, fleet, view, -1); return true;
	case KEY_ARROW_DOWN:
	case 'j': move(screen, fleet, view, 1); return true;
	case KEY_WHEEL_UP: move(screen, fleet, view, -3); return true;
	case KEY_WHEEL_DOWN: move(screen, fleet, view, 3); return true;
	case KEY_PAGE_UP: move(screen, fleet, view, -page); return true;
	case KEY_PAGE_DOWN: move(screen, fleet, view, page); return true;
	case KEY_TO_HOME:
	case 'g': move(screen, fleet, view, -all); return true;
	case KEY_TO_END:
	case 'G': move(screen, fleet, view, all); return true;
	case KEY_CLICK:
		if (!screen->shows_hosts && event.y >= screen->list_top && event.y < screen->list_top + screen->list_height)
			select_row(screen, view, screen->scroll + event.y - screen->list_top);
		return true;
	default: return false;
	}
}

static void sort_by(struct fleet_screen *screen, int by)
{
	screen->sort = (enum fleet_sort)(((int)screen->sort + by + FLEET_SORT_COUNT) % FLEET_SORT_COUNT);
	snprintf(screen->message, sizeof screen->message, "sorted by %s", fleet_sort_name(screen->sort));
}

enum fleet_wish fleet_screen_key(
	struct fleet_screen *screen, struct key_event event, const struct fleet *fleet, const struct fleet_view *view)
{
	if (event.key == KEY_HANGUP || event.key == 'q')
		return FLEET_WISH_QUIT;
	screen->message[0] = '\0';
	if (screen->has_help || event.key == '?' || event.key == KEY_FUNCTION_1) {
		screen->has_help = !screen->has_help;
		return FLEET_WISH_NOTHING;
	}
	if (move_key(screen, event, fleet, view))
		return FLEET_WISH_NOTHING;
	switch (event.key) {
	case KEY_TAB:
	case KEY_BACK_TAB: screen->shows_hosts = !screen->shows_hosts; break;
	case KEY_ESC: screen->shows_hosts = false; break;
	case '<': sort_by(screen, -1); break;
	case '>': sort_by(screen, 1); break;
	case 'n':
		if (view->count)
			next_problem(screen, view);
		break;
	case KEY_RETURN: return screen->shows_hosts ? FLEET_WISH_NOTHING : FLEET_WISH_OPEN;
	default: break;
	}
	return FLEET_WISH_NOTHING;
}
