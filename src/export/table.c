#include "src/export/table.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

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

void table_name(struct buffer *out, unsigned indent, const char *name)
{
	/* Show a part of the name at any depth. */
	int blanks = (int)(indent < TABLE_NAME_CELLS / 2 ? indent : TABLE_NAME_CELLS / 2);
	int room = TABLE_NAME_CELLS - blanks;
	char text[4 * TABLE_NAME_CELLS + 8];
	text_shorten(text, sizeof text, name, (size_t)room);
	fill(out, blanks);
	buffer_puts(out, text);
	fill(out, room - (int)text_cells(text));
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
