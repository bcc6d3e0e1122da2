#include "ui/core/line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

void line_start(struct line *line, const char *separator)
{
	line->separator = separator;
	line->count = 0;
}

void line_add(struct line *line, int rank, enum role role, const char *format, ...)
{
	struct piece *piece;
	va_list arguments;
	if (line->count == LINE_PIECES_MAX)
		return;
	piece = &line->pieces[line->count++];
	va_start(arguments, format);
	vsnprintf(piece->text, sizeof piece->text, format, arguments);
	va_end(arguments);
	piece->rank = rank;
	piece->role = role;
	piece->cells = (int)text_cells(piece->text);
}

static int line_cells(const struct line *line)
{
	int cells = 0, gap = (int)text_cells(line->separator);
	for (unsigned i = 0; i < line->count; i++)
		cells += line->pieces[i].cells + (i > 0 ? gap : 0);
	return cells;
}

static void leave_out_min(struct line *line)
{
	unsigned min = 0;
	for (unsigned i = 1; i < line->count; i++)
		if (line->pieces[i].rank >= line->pieces[min].rank)
			min = i;
	line->count--;
	memmove(&line->pieces[min], &line->pieces[min + 1], (line->count - min) * sizeof line->pieces[0]);
}

int line_fit(struct line *line, int width)
{
	while (line->count > 0 && line_cells(line) > width)
		leave_out_min(line);
	return line_cells(line);
}

int line_draw(struct line *line, struct canvas *canvas, int x, int y, int width)
{
	int used = 0;
	line_fit(line, width);
	for (unsigned i = 0; i < line->count; i++) {
		if (i > 0)
			used += canvas_text(canvas, x + used, y, width - used, ROLE_DIM, line->separator);
		used += canvas_text(canvas, x + used, y, width - used, line->pieces[i].role, line->pieces[i].text);
	}
	return used;
}

int line_draw_right(struct line *line, struct canvas *canvas, int x, int y, int width)
{
	int cells = line_fit(line, width);
	return line_draw(line, canvas, x + width - cells, y, cells);
}

const char *line_text(struct line *line, int width, char *out, size_t size)
{
	size_t length = 0;
	line_fit(line, width);
	out[0] = '\0';
	for (unsigned i = 0; i < line->count && length < size; i++) {
		int written = snprintf(out + length, size - length, "%s%s", i > 0 ? line->separator : "", line->pieces[i].text);

		length += written > 0 ? (size_t)written : 0;
	}
	return out;
}
