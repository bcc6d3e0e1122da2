#include "ui/setup/setup.h"

#include <stdio.h>
#include <string.h>

#include "src/settings/config_reader.h"
#include "src/settings/settings_save.h"
#include "ui/core/layout.h"
#include "ui/setup/setup_rows.h"
#include "ui/widgets/parts.h"

void setup_init(struct setup *setup, struct settings *settings, const struct rule_book *rules, const char *path)
{
	*setup = (struct setup){ .settings = settings, .rules = rules, .path = path, .saved = *settings };
	if (!path && settings_path(setup->own_path, sizeof setup->own_path) == STATUS_OK)
		setup->path = setup->own_path;
}

static void open_setup(struct setup *setup, struct scene *scene)
{
	struct reason why_not;
	int count = 0;
	setup->is_open = true;
	setup->is_in_rows = false;
	theme_book_init(&setup->themes);
	if (theme_book_load(&setup->themes, &why_not) != STATUS_OK)
		snprintf(scene->message, sizeof scene->message, "%.159s", why_not.text);
	memset(setup->is_shown, 0, sizeof setup->is_shown);
	for (unsigned i = 0; i < setup->settings->panels.count; i++) {
		setup->order[count++] = setup->settings->panels.list[i];
		setup->is_shown[setup->settings->panels.list[i]] = true;
	}
	for (int panel = 0; panel < SETTING_PANEL_COUNT; panel++)
		if (!setup->is_shown[panel])
			setup->order[count++] = (enum setting_panel)panel;
	setup->rule_count = setup->rules ? rule_book_rows(setup->rules, setup->list, SETUP_RULES_MAX) : 0;
}

/* -- drawing -- */

enum { PAGES_WIDTH = 14, HEIGHT_MIN = 8 };

int setup_height(const struct setup *setup, int height)
{
	int wanted = setup_pages[setup->page].count(setup) + 2, max = height < 20 ? height : height * 3 / 5;
	wanted = wanted < HEIGHT_MIN ? HEIGHT_MIN : wanted;
	return wanted < max ? wanted : max;
}

static void draw_pages(struct setup *setup, struct canvas *canvas, struct rect rect)
{
	struct rect inside = parts_panel(canvas, rect, "Set-up", NULL, ROLE_TITLE);
	setup->pages = inside;
	for (int page = 0; page < SETUP_PAGES && page < inside.height; page++) {
		struct rect row = rect_row(inside, page);
		bool is_chosen = page == (int)setup->page;
		canvas_text(
			canvas, row.x + 1, row.y, row.width - 1, is_chosen ? ROLE_STRONG : ROLE_NORMAL, setup_pages[page].name);
		if (is_chosen && !setup->is_in_rows)
			parts_select(canvas, row);
		else if (is_chosen)
			canvas_put(canvas, row.x, row.y, 0x25b8, ROLE_ACCENT);
	}
}

static void draw_row(const struct setup *setup, int row, struct canvas *canvas, struct rect rect)
{
	char label[SETUP_TEXT_SIZE], value[SETUP_TEXT_SIZE], what[SETUP_TEXT_SIZE];
	const struct setup_page_kind *page = &setup_pages[setup->page];
	page->describe(setup, row, label, value, what);
	int value_x = rect.x + 1 + page->label_width, what_x = value_x + page->value_width;
	canvas_text(canvas, rect.x + 1, rect.y, page->label_width - 1, ROLE_NORMAL, label);
	canvas_text(canvas, value_x, rect.y, page->value_width - 1, ROLE_ACCENT, value);
	canvas_text(canvas, what_x, rect.y, rect.x + rect.width - what_x, ROLE_DIM, what);
}

static void draw_rows(struct setup *setup, struct canvas *canvas, struct rect rect)
{
	const struct setup_page_kind *page = &setup_pages[setup->page];
	struct view_state *state = &setup->rows[setup->page];
	struct line right;
	char path[CONFIG_NAME_SIZE] = "no home folder: nothing is saved";
	int count = page->count(setup);
	if (setup->path)
		config_show_path(path, setup->path);
	line_start(&right, " · ");
	line_add(&right, 0, ROLE_DIM, setup->path ? "saved in %s" : "%s", path);
	struct rect inside = parts_panel(canvas, rect, page->title, &right, ROLE_TITLE);
	setup->body = inside;
	parts_list_settle(state, count, inside.height);
	for (int i = 0; i < inside.height && state->scroll + i < count; i++) {
		struct rect row = rect_row(inside, i);
		draw_row(setup, state->scroll + i, canvas, row);
		if (setup->is_in_rows && state->scroll + i == state->row)
			parts_select(canvas, row);
	}
}

void setup_draw(struct setup *setup, struct canvas *canvas, struct rect rect)
{
	struct rect left = rect_take_left(&rect, PAGES_WIDTH);
	draw_pages(setup, canvas, left);
	draw_rows(setup, canvas, rect);
}

/* -- saving -- */

bool setup_save(struct setup *setup, char *text, size_t size)
{
	struct setting_change changes[SETTING_CHANGES_MAX];
	struct reason why_not = { "no home folder", "" };
	char path[CONFIG_NAME_SIZE] = "";
	size_t count = settings_changes(&setup->saved, setup->settings, changes);
	if (count == 0)
		return false;
	enum status status = setup->path ? settings_save(setup->path, changes, count, &why_not) : STATUS_NOT_FOUND;
	if (setup->path)
		config_show_path(path, setup->path);
	if (status == STATUS_OK) {
		setup->saved = *setup->settings;
		snprintf(text, size, "saved: %s", path);
	} else {
		snprintf(text, size, "not saved, in use until pmtop ends: %s", why_not.text);
	}
	return true;
}

/* -- keys -- */

static void close_setup(struct setup *setup, struct scene *scene)
{
	setup->is_open = false;
	if (!setup_save(setup, scene->message, sizeof scene->message))
		snprintf(scene->message, sizeof scene->message, "set-up: nothing was changed");
}

static void choose_page(struct setup *setup, int by)
{
	int page = (int)setup->page + by;
	if (page >= 0 && page < SETUP_PAGES)
		setup->page = (enum setup_page)page;
}

static void key_in_pages(struct setup *setup, struct key_event event)
{
	switch (event.key) {
	case KEY_ARROW_UP:
	case 'k': choose_page(setup, -1); break;
	case KEY_ARROW_DOWN:
	case 'j': choose_page(setup, 1); break;
	case KEY_ARROW_RIGHT:
	case KEY_RETURN:
	case KEY_TAB:
	case ' ': setup->is_in_rows = setup_pages[setup->page].count(setup) > 0; break;
	default: break;
	}
}

static void change_row(struct setup *setup, int by)
{
	setup_pages[setup->page].change(setup, setup->rows[setup->page].row, by);
	setup->has_changed = true;
}

static void move_row(struct setup *setup, int by)
{
	const struct setup_page_kind *page = &setup_pages[setup->page];
	if (!page->move) {
		change_row(setup, by);
		return;
	}
	page->move(setup, setup->rows[setup->page].row, by);
	setup->has_changed = true;
}

static void key_in_rows(struct setup *setup, struct key_event event)
{
	struct view_state *state = &setup->rows[setup->page];
	switch (event.key) {
	case KEY_ARROW_LEFT:
	case KEY_BACK_TAB:
	case KEY_TAB: setup->is_in_rows = false; break;
	case ' ':
	case KEY_ARROW_RIGHT:
	case KEY_RETURN: change_row(setup, 1); break;
	case '+':
	case '=': move_row(setup, 1); break;
	case '-': move_row(setup, -1); break;
	default: parts_list_key(state, event, setup_pages[setup->page].count(setup), setup->body); break;
	}
}

/* A click chooses a page or a row; on the selected row it changes it. */
static void click(struct setup *setup, struct key_event event)
{
	if (rect_has(setup->pages, event.x, event.y) && event.y - setup->pages.y < SETUP_PAGES) {
		setup->page = (enum setup_page)(event.y - setup->pages.y);
		setup->is_in_rows = false;
	} else if (rect_has(setup->body, event.x, event.y)) {
		struct view_state *state = &setup->rows[setup->page];
		int before = setup->is_in_rows ? state->row : -1, count = setup_pages[setup->page].count(setup);
		if (state->scroll + event.y - setup->body.y >= count)
			return;
		setup->is_in_rows = true;
		parts_list_key(state, event, count, setup->body);
		if (state->row == before)
			change_row(setup, 1);
	}
}

static bool is_opening(int key) { return key == KEY_FUNCTION_2 || key == 'S'; }

bool setup_key(struct setup *setup, struct scene *scene, struct key_event event)
{
	if (!setup->is_open) {
		if (is_opening(event.key))
			open_setup(setup, scene);
		return is_opening(event.key);
	}
	if (event.key == 'q')
		return false;
	if (is_opening(event.key) || event.key == KEY_ESC)
		close_setup(setup, scene);
	else if (event.key == KEY_CLICK)
		click(setup, event);
	else if (setup->is_in_rows)
		key_in_rows(setup, event);
	else
		key_in_pages(setup, event);
	return true;
}
