/* trace_table.h: a table of one tab: sorted by any column, searched, one row selected.
 *
 * Rows have numbers from 0; a column's value is a number, or a text. Values are computed once for each rank. */
#ifndef PMTOP_UI_TRACE_TRACE_TABLE_H
#define PMTOP_UI_TRACE_TRACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/core/canvas.h"
#include "ui/core/keys.h"
#include "ui/core/line.h"
#include "ui/core/table.h"
#include "ui/widgets/view.h"

struct trace_scene;

/* How a value is shown. TEXT and NAME are texts; a NAME is shortened in its middle, so that rows that differ look
 * different. A BAR is a ratio of the largest value of its column. */
enum trace_form {
	TRACE_TEXT,
	TRACE_NAME,
	TRACE_COUNT,
	TRACE_TIME, /* seconds, in one unit for the whole column */
	TRACE_RATIO,
	TRACE_BYTES,
	TRACE_RATE, /* bytes a second */
	TRACE_NUMBER,
	TRACE_BAR,
};

struct trace_column {
	struct table_column shown;
	enum trace_form form;
};

enum { TRACE_TEXT_SIZE = 400 };

struct trace_table {
	const char *title;
	const char *what; /* a row, for messages: "operator" */
	const struct trace_column *columns;
	int column_count;
	uint32_t (*count)(const struct trace_scene *scene);
	bool (*has)(const struct trace_scene *scene, uint32_t row); /* rows of others are left out; NULL: all are shown */
	double (*value)(const struct trace_scene *scene, uint32_t row, int column); /* NAN = unknown */
	void (*text)(const struct trace_scene *scene, uint32_t row, int column, char out[TRACE_TEXT_SIZE]);
	/* Of rows that are a tree: the position in it, by which columns of names sort. NULL, or NAN: texts sort. */
	double (*position)(const struct trace_scene *scene, uint32_t row);
	/* Of rows with equal numbers the one with more here comes first; 0: they keep their order. */
	int tie_column;
	/* The column to sort by at first. */
	int (*sort)(const struct trace_scene *scene);
	/* Pieces for the right end of the title; NULL: none. */
	void (*about)(const struct trace_scene *scene, struct line *line);
	/* Enter; NULL: nothing to open. */
	void (*open)(struct trace_scene *scene, uint32_t row);
	/* NULL: ROLE_NORMAL everywhere. */
	enum role (*role)(const struct trace_scene *scene, uint32_t row, int column);
};

/* What the user chose in a table, and its rows in order. */
struct trace_list {
	struct view_state state;
	bool is_filled, is_sorted;
	uint32_t count, found; /* rows; and how many there are without the scene's limit */
	uint32_t *order;       /* row numbers */
	double *values;        /* by row number and column */
	double max[TABLE_COLUMNS_MAX];
	bool is_known[TABLE_COLUMNS_MAX]; /* columns in which nothing is known are left out */
	struct table table;               /* as drawn last */
};

/* Computes the values and sorts, where that is needed. False: no memory. */
bool trace_table_fill(const struct trace_scene *scene, const struct trace_table *table, struct trace_list *list);
void trace_table_draw(struct trace_scene *scene, const struct trace_table *table, struct trace_list *list,
	struct canvas *canvas, struct rect rect);
bool trace_table_key(
	struct trace_scene *scene, const struct trace_table *table, struct trace_list *list, struct key_event event);
/* For parts_time(): the magnitude that gives all values up to `max` one unit and three digits or more for the largest.
 */
double trace_time_like(double max);
/* Another rank is shown: the values are computed anew. Sorting and search stay. */
void trace_list_forget(struct trace_list *list);

#endif
