/* table.h: columns at fixed positions. If room is short, whole columns are dropped, the least important first. */
#ifndef PMTOP_UI_CORE_TABLE_H
#define PMTOP_UI_CORE_TABLE_H

#include <stdbool.h>

#include "ui/core/canvas.h"

enum { TABLE_COLUMNS_MAX = 16 };

struct table_column {
	const char *title;
	int width;       /* without the gap of one cell after it */
	int rank;        /* 0 is never dropped */
	bool is_left;    /* left-aligned; numbers are right-aligned */
	bool takes_rest; /* grows with the table */
};
struct table {
	const struct table_column *columns;
	int count;
	int x[TABLE_COLUMNS_MAX], width[TABLE_COLUMNS_MAX]; /* width 0: dropped */
};
void table_fit(struct table *table, const struct table_column *columns, int count, struct rect rect);
/* `sorted` is the column to mark, −1 for none. */
void table_header(const struct table *table, struct canvas *canvas, int y, int sorted, bool is_ascending);
void table_cell(const struct table *table, struct canvas *canvas, int y, int column, enum role role, const char *text);
/* The column under x, −1 for none. */
int table_column_at(const struct table *table, int x);

#endif
