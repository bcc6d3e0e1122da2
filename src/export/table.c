#include "src/export/table.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/base/text_width.h"

void table_rule(struct buffer *out, char sign)
{
	char line[TABLE_WIDTH + 1];
	memset(line, sign, TABLE_WIDTH);
	line[TABLE_WIDTH] = '\n';
	buffer_add(out, line, sizeof line);
}

void table_title(struct buffer *out, const char *title)
{
	table_rule(out, '=');
	buffer_printf(out, "%s\n", title);
	table_rule(out, '=');
}

static void fill(struct buffer *out, int cells) { buffer_printf(out, "%*s", cells, ""); }

/* Bytes of `text` that take at most `cells`. */
static size_t fitting(const char *text, int cells, int *used)
{
	size_t length = strlen(text), i = 0;
	*used = 0;
	while (i < length) {
		uint32_t code;
		size_t bytes = utf8_decode(text + i, length - i, &code);
		if (*used + utf8_cells(code) > cells)
			break;
		*used += utf8_cells(code);
		i += bytes;
	}
	return i;
}

void table_name(struct buffer *out, unsigned indent, const char *name)
{
	/* Show a part of the name at any depth. */
	int blanks = (int)(indent < TABLE_NAME_CELLS / 2 ? indent : TABLE_NAME_CELLS / 2);
	int room = TABLE_NAME_CELLS - blanks, used;
	bool is_cut = text_cells(name) > (size_t)room;
	size_t bytes = fitting(name, is_cut ? room - 1 : room, &used);
	fill(out, blanks);
	buffer_add(out, name, bytes);
	if (is_cut)
		buffer_puts(out, "…");
	fill(out, room - used - is_cut);
}

void table_right(struct buffer *out, int cells, const char *text)
{
	int used = (int)text_cells(text);
	fill(out, used < cells ? cells - used : 0);
	buffer_puts(out, text);
}

void table_seconds(struct buffer *out, int cells, double seconds)
{
	char text[64] = "–", small[NUMBER_SIZE];
	/* Shorter times get a smaller unit, instead of 0.000. */
	if (fabs(seconds) < 0.001 && seconds != 0) {
		table_right(out, cells, format_seconds(small, seconds));
		return;
	}
	for (int decimals = 3; !isnan(seconds) && decimals >= 0; decimals--)
		if (snprintf(text, sizeof text, "%.*f", decimals, seconds) < cells)
			break;
	table_right(out, cells, text);
}
