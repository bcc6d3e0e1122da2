#include "ui/core/table.h"

#include <stdio.h>

static int total_width(const struct table *table)
{
	int total = 0;
	for (int i = 0; i < table->count; i++)
		total += table->width[i] > 0 ? table->width[i] + 1 : 0;
	return total;
}

/* The shown column of the highest rank, the rightmost among equals; −1 if only columns of rank 0 remain. */
static int min_important(const struct table *table)
{
	int min = -1, rank = 1;
	for (int i = 0; i < table->count; i++) {
		if (table->width[i] == 0 || table->columns[i].rank < rank)
			continue;
		rank = table->columns[i].rank;
		min = i;
	}
	return min;
}

void table_fit(struct table *table, const struct table_column *columns, int count, struct rect rect)
{
	int min, x = rect.x;
	table->columns = columns;
	table->count = count < TABLE_COLUMNS_MAX ? count : TABLE_COLUMNS_MAX;
	for (int i = 0; i < table->count; i++)
		table->width[i] = columns[i].width;
	while (total_width(table) > rect.width && (min = min_important(table)) >= 0)
		table->width[min] = 0;
	int rest = rect.width - total_width(table);

	for (int i = 0; i < table->count; i++) {
		if (columns[i].takes_rest && rest > 0 && table->width[i] > 0)
			table->width[i] += rest;
		table->x[i] = x;
		x += table->width[i] > 0 ? table->width[i] + 1 : 0;
	}
}

void table_cell(const struct table *table, struct canvas *canvas, int y, int column, enum role role, const char *text)
{
	if (table->width[column] == 0)
		return;
	if (table->columns[column].is_left)
		canvas_text(canvas, table->x[column], y, table->width[column], role, text);
	else
		canvas_text_right(canvas, table->x[column], y, table->width[column], role, text);
}

void table_header(const struct table *table, struct canvas *canvas, int y, int sorted, bool is_ascending)
{
	int end = table->count > 0 ? table->x[table->count - 1] + table->width[table->count - 1] : 0;
	if (table->count > 0)
		canvas_fill(canvas, (struct rect){ table->x[0], y, end - table->x[0], 1 }, ' ', ROLE_HEADER);
	for (int i = 0; i < table->count; i++) {
		char title[64];

		snprintf(title, sizeof title, i == sorted ? "%s%s" : "%s", table->columns[i].title, is_ascending ? "↑" : "↓");
		table_cell(table, canvas, y, i, i == sorted ? ROLE_KEY : ROLE_HEADER, title);
	}
}

int table_column_at(const struct table *table, int x)
{
	for (int i = 0; i < table->count; i++)
		if (table->width[i] > 0 && x >= table->x[i] && x < table->x[i] + table->width[i])
			return i;
	return -1;
}
