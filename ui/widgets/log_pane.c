#include "ui/widgets/log_pane.h"

#include <stdio.h>

enum { ROWS_MIN = 6, WIDE = 100, WHEEL_ROWS = 3 };

int log_pane_rows(const struct log_pane *pane, int height)
{
	if (!pane->lines || !pane->is_open)
		return 0;
	if (pane->is_whole)
		return height;
	int rows = height / 3 > ROWS_MIN ? height / 3 : ROWS_MIN;
	return rows < height / 2 ? rows : height / 2;
}

/* -- rows of a line that is longer than the pane is wide -- */

/* Without the blanks at its end, with which programs erase what was there. */
static int visible_count(const struct log_line *line)
{
	int count = line->count;
	while (count > 0 && LOG_CODE(line->cells[count - 1]) == ' ')
		count--;
	return count;
}

/* Where the row that begins at `from` ends. A wide character is not cut. */
static int row_end(const struct log_line *line, int count, int from, int width)
{
	int end = from + width;
	if (end >= count)
		return count;
	return end - from > 1 && LOG_CODE(line->cells[end]) == 0 ? end - 1 : end;
}

static int line_rows(const struct log_line *line, int width)
{
	int count = visible_count(line), rows = 1;
	for (int at = row_end(line, count, 0, width); at < count; at = row_end(line, count, at, width))
		rows++;
	return rows;
}

/* The line in which the cursor stands is not yet one while it is empty. */
static int line_count(const struct log_lines *lines)
{
	int count = lines->count;
	return count > 0 && visible_count(log_lines_at(lines, count - 1)) == 0 ? count - 1 : count;
}

/* Rows of the newest lines, up to `max`. */
static int count_rows(const struct log_lines *lines, int width, int max)
{
	int rows = 0;
	for (int line = line_count(lines) - 1; line >= 0 && rows < max; line--)
		rows += line_rows(log_lines_at(lines, line), width);
	return rows < max ? rows : max;
}

/* -- drawing -- */

static enum role role_of(uint32_t style)
{
	static const enum role colors[] = { ROLE_NORMAL, ROLE_DIM, ROLE_CRITICAL, ROLE_GOOD, ROLE_WARNING, ROLE_INFO,
		ROLE_MEMORY, ROLE_ACCENT, ROLE_NORMAL };
	uint32_t color = style & LOG_COLOR;
	if (color > 0 && color < sizeof colors / sizeof colors[0])
		return colors[color];
	return style & LOG_BOLD ? ROLE_STRONG : style & LOG_DIM ? ROLE_DIM : ROLE_NORMAL;
}

static void draw_cells(struct canvas *canvas, struct rect row, const uint32_t *cells, int count)
{
	for (int x = 0; x < count; x++)
		if (LOG_CODE(cells[x]) != 0)
			canvas_put(canvas, row.x + x, row.y, LOG_CODE(cells[x]), role_of(LOG_STYLE(cells[x])));
}

/* Draws the line so that its last row is at `last`, which may lie below the rect. Returns its rows. */
static int draw_line(struct canvas *canvas, struct rect rect, int last, const struct log_line *line)
{
	int rows = line_rows(line, rect.width), count = visible_count(line), from = 0;
	for (int row = 0; row < rows; row++) {
		int y = last - rows + 1 + row, end = row_end(line, count, from, rect.width);
		if (y >= 0 && y < rect.height)
			draw_cells(canvas, (struct rect){ rect.x, rect.y + y, rect.width, 1 }, line->cells + from, end - from);
		from = end;
	}
	return rows;
}

static void draw_lines(const struct log_pane *pane, struct canvas *canvas, struct rect rect)
{
	int rows = count_rows(pane->lines, rect.width, rect.height + pane->scroll);
	if (rows == 0)
		canvas_text(canvas, rect.x + 1, rect.y, rect.width - 1, ROLE_DIM, "The command has written nothing yet.");
	for (int line = line_count(pane->lines) - 1, y = rows - 1; line >= 0 && y >= 0; line--)
		y -= draw_line(canvas, rect, y, log_lines_at(pane->lines, line));
}

void log_pane_draw(const struct log_pane *pane, struct canvas *canvas, struct rect rect)
{
	char title[80], right[640];
	if (rect.height <= 0)
		return;
	if (pane->scroll > 0)
		snprintf(title, sizeof title, "Output, %d rows before the newest", pane->scroll);
	else
		snprintf(title, sizeof title, "Output");
	const char *keys = pane->is_whole ? "L smaller  l hide" : "L larger  l hide";
	snprintf(right, sizeof right, "%s  ·  %s", pane->path, keys);
	rect = canvas_rule(canvas, rect, title, canvas->width >= WIDE ? right : keys, ROLE_TITLE);
	struct rect before = canvas->clip;
	canvas_clip(canvas, rect);
	draw_lines(pane, canvas, rect);
	canvas_clip(canvas, before);
}

/* -- keys -- */

static bool scroll_by(struct log_pane *pane, int rows, struct rect rect)
{
	int height = rect.height - 1, all = count_rows(pane->lines, rect.width, INT32_MAX / 2);
	int max = all > height ? all - height : 0, scroll = pane->scroll + rows;
	pane->scroll = scroll < 0 ? 0 : scroll > max ? max : scroll;
	return true;
}

static bool scroll_key(struct log_pane *pane, struct key_event event, struct rect rect)
{
	int page = rect.height > 3 ? rect.height - 2 : 1;
	switch (event.key) {
	case KEY_ARROW_UP:
	case 'k': return scroll_by(pane, 1, rect);
	case KEY_ARROW_DOWN:
	case 'j': return scroll_by(pane, -1, rect);
	case KEY_WHEEL_UP: return scroll_by(pane, WHEEL_ROWS, rect);
	case KEY_WHEEL_DOWN: return scroll_by(pane, -WHEEL_ROWS, rect);
	case KEY_PAGE_UP: return scroll_by(pane, page, rect);
	case KEY_PAGE_DOWN: return scroll_by(pane, -page, rect);
	case KEY_TO_HOME: return scroll_by(pane, INT32_MAX / 2, rect);
	case KEY_TO_END: return scroll_by(pane, -pane->scroll, rect);
	default: return false;
	}
}

bool log_pane_key(struct log_pane *pane, struct key_event event, struct rect rect)
{
	bool is_whole = pane->is_open && pane->is_whole;
	if (!pane->lines)
		return false;
	if (event.key == 'l') {
		pane->is_open = !pane->is_open;
		pane->is_whole = false;
	} else if (event.key == 'L') {
		pane->is_whole = !is_whole;
		pane->is_open = true;
	} else if (is_whole && event.key == KEY_ESC) {
		pane->is_whole = false;
	} else {
		return is_whole && scroll_key(pane, event, rect);
	}
	pane->scroll = 0;
	return true;
}
