#include "ui/trace/trace_csv.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "src/base/formats/cells.h"

static const char *const units[] = {
	[TRACE_TEXT] = "",
	[TRACE_NAME] = "",
	[TRACE_COUNT] = "",
	[TRACE_TIME] = "_s",
	[TRACE_RATIO] = "_ratio",
	[TRACE_BYTES] = "_bytes",
	[TRACE_RATE] = "_bytes_per_s",
	[TRACE_NUMBER] = "",
};

/* "SELF GPU" of times is "self_gpu_s", "BYTES" is "bytes". */
static void write_heading(const struct trace_column *column, struct buffer *out)
{
	const char *title = column->shown.title, *unit = units[column->form];
	for (const char *c = title; *c; c++) {
		char letter = *c == ' ' || *c == '-' ? '_' : (char)tolower((unsigned char)*c);
		buffer_printf(out, *c == '/' ? "_per_" : "%c", letter);
	}
	buffer_puts(out, unit[0] && strcasecmp(title, unit + 1) == 0 ? "" : unit);
}

/* Without the blanks around it. */
static void write_text(char *text, struct buffer *out)
{
	size_t length = strlen(text);
	while (length && text[length - 1] == ' ')
		text[--length] = '\0';
	cell_text(out, text + strspn(text, " "));
}

static void write_cell(
	const struct trace_scene *scene, const struct trace_table *table, uint32_t row, int column, struct buffer *out)
{
	char text[TRACE_TEXT_SIZE];
	enum trace_form form = table->columns[column].form;
	if (form != TRACE_TEXT && form != TRACE_NAME) {
		cell_number(out, table->value(scene, row, column));
		return;
	}
	table->text(scene, row, column, text);
	write_text(text, out);
}

bool trace_csv_write(
	const struct trace_scene *scene, const struct trace_table *table, struct trace_list *list, struct buffer *out)
{
	if (!trace_table_fill(scene, table, list))
		return false;
	for (uint32_t line = 0; line <= list->count; line++) {
		const char *comma = "";
		for (int column = 0; column < table->column_count; column++) {
			if (table->columns[column].form == TRACE_BAR)
				continue;
			buffer_puts(out, comma);
			comma = ",";
			if (line == 0)
				write_heading(&table->columns[column], out);
			else
				write_cell(scene, table, list->order[line - 1], column, out);
		}
		buffer_puts(out, "\n");
	}
	return !out->failed;
}
