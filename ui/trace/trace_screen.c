#include "ui/trace/trace_screen.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/trace/output/profile_advice.h"
#include "ui/core/layout.h"
#include "ui/trace/trace_csv.h"
#include "ui/trace/trace_pages.h"
#include "ui/trace/trace_scene.h"
#include "ui/widgets/chrome.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/tabs.h"
#include "ui/widgets/typing.h"

#define TAB_POINTER(name) &name##_trace_tab,
static const struct trace_tab *const tabs[TRACE_TAB_COUNT] = { TRACE_TABS(TAB_POINTER) };
#undef TAB_POINTER

struct trace_screen {
	struct trace_scene scene;
	bool is_typing, has_help, wants_csv;
	char typed[sizeof((struct view_state *)0)->search];
};

/* -- what is shown -- */

static void close_pages(struct trace_scene *scene)
{
	while (scene->page_count)
		trace_page_release(&scene->pages[--scene->page_count]);
}

static void find_rules(struct trace_scene *scene)
{
	enum { RULES_MAX = sizeof scene->rules / sizeof *scene->rules };
	scene->rule_count = 0;
	for (const struct profile_rule *rule = profile_rules; rule->name && scene->rule_count < RULES_MAX; rule++)
		if (profile_rule_holds(rule, &scene->figures))
			scene->rules[scene->rule_count++] = rule;
}

static void sum_operators(struct trace_scene *scene)
{
	const struct profile_ops *ops = &scene->analysis->ops;
	scene->missing_gpu_s = scene->self_gpu_s = (double)profile_ops_missing_ns(scene->analysis) / 1e9;
	scene->self_cpu_s = 0;
	for (uint32_t i = 0; i < ops->count; i++)
		if (profile_kind_of(ops->rows[i].name) <= PROFILE_ANNOTATION) {
			scene->self_gpu_s += (double)ops->rows[i].gpu_self_ns / 1e9;
			scene->self_cpu_s += (double)ops->rows[i].self_ns / 1e9;
		}
}

static void show_rank(struct trace_scene *scene, size_t rank)
{
	scene->rank = rank;
	scene->analysis = scene->ranks[rank];
	scene->device = 0;
	profile_streams_release(&scene->streams);
	if (!profile_streams_find(&scene->analysis->profile, &scene->streams))
		snprintf(scene->message, sizeof scene->message, "out of memory: the streams are missing");
	trace_scene_regroup(scene);
	profile_figures_find(scene->analysis, &scene->figures);
	find_rules(scene);
	sum_operators(scene);
	close_pages(scene);
	for (int i = 0; i < TRACE_TAB_COUNT; i++)
		if (i != TRACE_TAB_ranks)
			trace_list_forget(&scene->lists[i]);
	trace_list_forget(&scene->tops[0]);
	trace_list_forget(&scene->tops[1]);
}

struct trace_screen *trace_screen_new(
	struct profile_analysis *const *ranks, size_t count, const struct profile_view *view)
{
	struct trace_screen *screen = calloc(1, sizeof *screen);
	if (!screen)
		return NULL;
	screen->scene.ranks = ranks;
	screen->scene.rank_count = count;
	screen->scene.sort = view->sort;
	screen->scene.group = view->group;
	screen->scene.limit = view->limit;
	screen->scene.go_to = TRACE_TAB_COUNT;
	screen->scene.go_to_rank = SIZE_MAX;
	show_rank(&screen->scene, 0);
	return screen;
}

void trace_screen_free(struct trace_screen *screen)
{
	if (!screen)
		return;
	close_pages(&screen->scene);
	for (int i = 0; i < TRACE_TAB_COUNT; i++)
		trace_list_forget(&screen->scene.lists[i]);
	trace_list_forget(&screen->scene.tops[0]);
	trace_list_forget(&screen->scene.tops[1]);
	profile_streams_release(&screen->scene.streams);
	free(screen);
}

void trace_screen_message(struct trace_screen *screen, const char *text)
{
	snprintf(screen->scene.message, sizeof screen->scene.message, "%s", text);
}

bool trace_screen_wants_csv(const struct trace_screen *screen) { return screen->wants_csv; }

bool trace_screen_write(struct trace_screen *screen, struct buffer *csv, const char **name)
{
	struct trace_scene *scene = &screen->scene;
	const struct trace_tab *tab = tabs[scene->tab];
	char why[TRACE_WHY_SIZE];
	*name = tab->name;
	return tab->table && !tab->why_empty(scene, why) &&
		trace_csv_write(scene, tab->table, &scene->lists[scene->tab], csv);
}

static struct trace_page *top_page(struct trace_scene *scene)
{
	return scene->page_count ? &scene->pages[scene->page_count - 1] : NULL;
}

/* The list or page that keys and the search act on. */
static struct view_state *top_state(struct trace_scene *scene)
{
	struct trace_page *page = top_page(scene);
	return page ? &page->state : &scene->lists[scene->tab].state;
}

/* -- drawing -- */

static void draw_header(const struct trace_scene *scene, struct canvas *canvas, struct rect row)
{
	const struct profile *profile = &scene->analysis->profile;
	const struct profile_gpu *gpu = trace_scene_gpu(scene);
	const char *slash = strrchr(scene->analysis->path, '/'), *path = slash ? slash + 1 : scene->analysis->path;
	bool is_wide = canvas->width >= 100;
	char name[LINE_PIECE_SIZE], number[NUMBER_SIZE];
	struct line who, how;
	text_clean(name, sizeof name, path, strlen(path));
	line_start(&who, is_wide ? "  ·  " : " · ");
	line_add(&who, 0, ROLE_TITLE, "%s", name);
	line_add(&who, 2, ROLE_NORMAL, "%s event%s", format_grouped(number, profile->event_count),
		profile->event_count == 1 ? "" : "s");
	if (profile->rank >= 0 && profile->world_size > 0)
		line_add(&who, 1, ROLE_NORMAL, "rank %" PRId64 "/%" PRId64, profile->rank, profile->world_size);
	else if (profile->rank >= 0)
		line_add(&who, 1, ROLE_NORMAL, "rank %" PRId64, profile->rank);
	if (scene->rank_count > 1)
		line_add(&who, 1, ROLE_DIM, "trace %zu of %zu [ ]", scene->rank + 1, scene->rank_count);
	line_start(&how, "  ·  ");
	if (gpu && gpu->window_ns > 0)
		line_add(
			&how, 0, ROLE_STRONG, "GPU busy %s", format_percent(number, (double)gpu->busy_ns / (double)gpu->window_ns));
	line_add(&how, 1, ROLE_NORMAL, "%s", format_seconds(number, trace_scene_window_s(scene)));
	row.x += 1;
	row.width -= 2;
	if (is_wide)
		rect_take_left(&row, canvas_text(canvas, row.x, row.y, row.width, ROLE_ACCENT, "pmtop trace") + 2);
	int right = line_fit(&how, row.width / 2);
	line_draw(&who, canvas, row.x, row.y, row.width - right - 2);
	line_draw_right(&how, canvas, row.x, row.y, row.width);
}

static int fill_tabs(const struct trace_scene *scene, struct tab shown[TRACE_TAB_COUNT])
{
	for (int i = 0; i < TRACE_TAB_COUNT; i++)
		shown[i] = (struct tab){ .name = tabs[i]->name, .short_name = tabs[i]->short_name, .digit = (char)('1' + i) };
	for (int i = 0; i < scene->rule_count; i++)
		shown[TRACE_TAB_overview].warnings += profile_rule_is_warning(scene->rules[i]);
	return TRACE_TAB_COUNT;
}

static void draw_tabs(const struct trace_scene *scene, struct canvas *canvas, struct rect row)
{
	struct tab shown[TRACE_TAB_COUNT];
	tabs_draw(shown, fill_tabs(scene, shown), canvas, row, (int)scene->tab);
}

static const char help[] =
	"1 … 9, Tab, Shift-Tab: open a tab.  [ ]: previous, next trace, where several were given.\n"
	"↑ ↓ PgUp PgDn Home End: select a row.  Enter: its details: an operator's kernels, shapes and stacks; "
	"a kernel's operators, durations and launch delays; what the host did in a gap. Enter works there again.  "
	"Esc: back.\n"
	"s S or < >: sort by the next, previous column.  I: reverse the order.  A click on a heading sorts, too.\n"
	"b in Operators: group by name, shape, stack, module.  w: save the table as CSV.\n"
	"/: search.  n N: next, previous match.  Esc ends the search.\n"
	"← →: the next device in Memory.\n"
	"GPU busy: the time with a kernel, copy or memset on any stream, of the time from the first to the last event. "
	"Idle time is split by what the CPU did meanwhile. –: unknown, not recorded.\n"
	"q: quit. man pmtop-trace has more.";

static void draw_tab(struct trace_scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct trace_tab *tab = tabs[scene->tab];
	char why[TRACE_WHY_SIZE];
	const char *text = tab->why_empty(scene, why);
	if (text)
		parts_note(canvas, rect, tab->name, text);
	else if (tab->draw)
		tab->draw(scene, canvas, rect);
	else
		trace_table_draw(scene, tab->table, &scene->lists[scene->tab], canvas, rect);
}

static void draw_last_line(const struct trace_screen *screen, struct canvas *canvas, struct rect row)
{
	const struct trace_scene *scene = &screen->scene;
	const char *search = top_state((struct trace_scene *)scene)->search;
	rect_take_left(&row, 1);
	if (screen->is_typing) {
		canvas_printf(canvas, row.x, row.y, row.width, ROLE_STRONG, "/%s_", screen->typed);
	} else if (scene->message[0]) {
		canvas_text(canvas, row.x, row.y, row.width, ROLE_ACCENT, scene->message);
	} else if (search[0]) {
		rect_take_left(&row, canvas_printf(canvas, row.x, row.y, row.width, ROLE_STRONG, "/%s", search) + 2);
		chrome_hints(canvas, row, "n/N next match  Enter details  Esc ends the search");
	} else {
		chrome_hints(canvas, row,
			screen->has_help        ? "Esc back  q quit"
				: scene->page_count ? "Esc back  ↑↓ row  Enter details  / search  q quit"
									: tabs[scene->tab]->keys);
	}
}

static bool is_tiny(const struct canvas *canvas) { return canvas->width < 40 || canvas->height < 10; }

static struct rect body_of(const struct canvas *canvas)
{
	struct rect rest = { 0, 0, canvas->width, canvas->height };
	rect_take_top(&rest, parts_is_roomy(canvas) ? 3 : 2);
	rect_take_bottom(&rest, 1);
	return rest;
}

void trace_screen_draw(struct trace_screen *screen, struct canvas *canvas)
{
	struct trace_scene *scene = &screen->scene;
	struct rect whole = { 0, 0, canvas->width, canvas->height };
	struct trace_page *page = top_page(scene);
	canvas_unclip(canvas);
	canvas_clear(canvas);
	if (is_tiny(canvas)) {
		draw_header(scene, canvas, rect_row(whole, 0));
		return;
	}
	struct rect body = body_of(canvas);
	canvas_clip(canvas, body);
	if (screen->has_help)
		parts_note(canvas, body, "Help", help);
	else if (page)
		trace_page_draw(page, canvas, body);
	else
		draw_tab(scene, canvas, body);
	canvas_unclip(canvas);
	draw_header(scene, canvas, rect_row(whole, 0));
	draw_tabs(scene, canvas, rect_row(whole, 1));
	draw_last_line(screen, canvas, rect_row(whole, -1));
}

/* -- keys -- */

static void open_tab(struct trace_scene *scene, int tab)
{
	if (tab < 0 || tab >= TRACE_TAB_COUNT)
		return;
	close_pages(scene);
	scene->tab = (enum trace_tab_id)tab;
}

static void next_rank(struct trace_scene *scene, size_t step)
{
	if (scene->rank_count < 2)
		snprintf(scene->message, sizeof scene->message, "only one trace was given");
	else
		show_rank(scene, (scene->rank + step) % scene->rank_count);
}

/* Keys of the page or tab; then what it asked for. */
static void pass_on(struct trace_scene *scene, struct key_event event)
{
	const struct trace_tab *tab = tabs[scene->tab];
	struct trace_page *page = top_page(scene);
	struct trace_link link = { TRACE_LINK_NONE, 0 };
	char why[TRACE_WHY_SIZE];
	if (page) {
		if (trace_page_key(page, event, &link, scene->message, sizeof scene->message))
			trace_pages_follow(scene, link);
		return;
	}
	if (!tab->why_empty(scene, why) && !(tab->key && tab->key(scene, event)) && tab->table)
		trace_table_key(scene, tab->table, &scene->lists[scene->tab], event);
	if (scene->go_to_rank != SIZE_MAX)
		show_rank(scene, scene->go_to_rank);
	if (scene->go_to != TRACE_TAB_COUNT)
		open_tab(scene, (int)scene->go_to);
	scene->go_to_rank = SIZE_MAX;
	scene->go_to = TRACE_TAB_COUNT;
}

static void type_search(struct trace_screen *screen, struct key_event event)
{
	struct view_state *state = top_state(&screen->scene);
	enum typing typing = typing_key(screen->typed, sizeof screen->typed, event);
	if (typing == TYPING_ON)
		return;
	screen->is_typing = false;
	snprintf(state->search, sizeof state->search, "%s", screen->typed);
	if (typing == TYPING_DONE && state->search[0])
		pass_on(&screen->scene, (struct key_event){ .key = 'n' });
}

static void start_search(struct trace_screen *screen)
{
	struct trace_scene *scene = &screen->scene;
	char why[TRACE_WHY_SIZE];
	if (!scene->page_count && (!tabs[scene->tab]->table || tabs[scene->tab]->why_empty(scene, why))) {
		snprintf(scene->message, sizeof scene->message, "this tab has no table to search");
		return;
	}
	screen->is_typing = true;
	screen->typed[0] = '\0';
}

static void back(struct trace_screen *screen)
{
	struct trace_scene *scene = &screen->scene;
	struct view_state *state = top_state(scene);
	if (screen->has_help)
		screen->has_help = false;
	else if (state->search[0])
		state->search[0] = '\0';
	else if (scene->page_count)
		trace_page_release(&scene->pages[--scene->page_count]);
	else
		open_tab(scene, TRACE_TAB_overview);
}

static bool click_tab(struct trace_scene *scene, struct key_event event, const struct canvas *canvas)
{
	struct tab shown[TRACE_TAB_COUNT];
	struct rect whole = { 0, 0, canvas->width, canvas->height };
	if (event.key != KEY_CLICK || event.y != 1 || is_tiny(canvas))
		return false;
	open_tab(scene, tabs_at(shown, fill_tabs(scene, shown), rect_row(whole, 1), event.x));
	return true;
}

bool trace_screen_key(struct trace_screen *screen, struct key_event event, const struct canvas *canvas)
{
	struct trace_scene *scene = &screen->scene;
	if (event.key == KEY_HANGUP)
		return false;
	if (event.key == KEY_NOTHING || event.key == KEY_WINDOW)
		return true;
	scene->message[0] = '\0';
	screen->wants_csv = false;
	if (screen->is_typing) {
		type_search(screen, event);
		return true;
	}
	if (screen->has_help && event.key != 'q' && event.key != '?')
		event.key = KEY_ESC;
	switch (event.key) {
	case 'q': return false;
	case '?':
	case KEY_FUNCTION_1: screen->has_help = !screen->has_help; return true;
	case KEY_TAB: open_tab(scene, ((int)scene->tab + 1) % TRACE_TAB_COUNT); return true;
	case KEY_BACK_TAB: open_tab(scene, ((int)scene->tab + TRACE_TAB_COUNT - 1) % TRACE_TAB_COUNT); return true;
	case '[': next_rank(scene, scene->rank_count - 1); return true;
	case ']': next_rank(scene, 1); return true;
	case '/': start_search(screen); return true;
	case 'w': screen->wants_csv = true; return true;
	case KEY_ESC: back(screen); return true;
	default: break;
	}
	if (event.key >= '1' && event.key < '1' + TRACE_TAB_COUNT)
		open_tab(scene, event.key - '1');
	else if (!click_tab(scene, event, canvas))
		pass_on(scene, event);
	return true;
}
