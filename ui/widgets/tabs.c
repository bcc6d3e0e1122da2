#include "ui/widgets/tabs.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

enum { TAB_SIZE = 64 };

/* The text of a tab with a blank on either side; returns its cells. */
static int tab_text(const struct tab *tab, bool is_wide, char out[TAB_SIZE])
{
	*out = '\0';
	if (tab->is_hidden)
		return 0;
	int length =
		snprintf(out, TAB_SIZE, is_wide ? " %c %.30s" : " %c%.30s", tab->digit, is_wide ? tab->name : tab->short_name);
	if (tab->warnings > 0)
		length += snprintf(out + length, TAB_SIZE - (size_t)length, is_wide ? " ⚠%d" : "⚠%d", tab->warnings);
	snprintf(out + length, TAB_SIZE - (size_t)length, " ");
	return (int)text_cells(out);
}

static bool are_wide(const struct tab *tabs, int count, int width)
{
	char text[TAB_SIZE];
	int used = 0;
	for (int i = 0; i < count; i++)
		used += tab_text(&tabs[i], true, text);
	return used <= width;
}

/* Brackets mark the chosen tab when there are no colours. */
static void draw_active(struct canvas *canvas, struct rect tab, char *text)
{
	if (canvas->charset == CHARSET_ASCII) {
		text[0] = '[';
		text[strlen(text) - 1] = ']';
	}
	canvas_text(canvas, tab.x, tab.y, tab.width, ROLE_TAB_ACTIVE, text);
}

void tabs_draw(const struct tab *tabs, int count, struct canvas *canvas, struct rect row, int active)
{
	bool is_wide = are_wide(tabs, count, row.width);
	char text[TAB_SIZE];
	canvas_fill(canvas, row, ' ', ROLE_TAB);
	for (int i = 0, x = row.x; i < count && x < row.x + row.width; i++) {
		int cells = tab_text(&tabs[i], is_wide, text), room = row.x + row.width - x;
		if (cells == 0)
			continue;

		/* the blank between two tabs belongs to the chosen one */
		if (i != active)
			canvas_text(canvas, x + 1, row.y, cells - 2 < room - 1 ? cells - 2 : room - 1, ROLE_TAB, text + 1);
		else
			draw_active(canvas, (struct rect){ x, row.y, cells < room ? cells : room, 1 }, text);
		x += is_wide ? cells : cells - 1;
	}
}

int tabs_at(const struct tab *tabs, int count, struct rect row, int x)
{
	bool is_wide = are_wide(tabs, count, row.width);
	char text[TAB_SIZE];
	for (int i = 0, from = row.x; i < count; i++) {
		int cells = tab_text(&tabs[i], is_wide, text);
		if (cells == 0)
			continue;
		if (x >= from && x < from + cells)
			return i;
		from += is_wide ? cells : cells - 1;
	}
	return -1;
}
