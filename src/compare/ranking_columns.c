#include "src/compare/ranking_columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/compare/page.h"
#include "src/compare/ranking.h"
#include "src/compare/wholes.h"

enum { COLUMNS_MAX = 64, GAP = 2, COLUMN_CELLS_MIN = 8 };

struct column {
	const struct whole_figure *whole; /* NULL: a gauge */
	const char *head;
	int cells;
};

struct columns {
	size_t count;
	struct column columns[COLUMNS_MAX];
};

void ranking_label(const struct ranking *ranking, size_t row, char *out, size_t size)
{
	bool is_size = strncmp(ranking->name[row], "batch size", 10) == 0;
	snprintf(out, size, "%s", is_size ? summary_name(ranking->rows[row].of) : ranking->name[row]);
}

static const char *cell_of(const struct ranking *ranking, const struct column *column, size_t row, char out[PAGE_VALUE])
{
	const struct summary *of = ranking->rows[row].of;
	return column->whole ? page_value(out, column->whole->unit, whole_value(of, column->whole))
						 : page_value(out, ROW_NUMBER, summary_gauge(of, column->head));
}

/* As wide as its head and its cells; left out if no run has the figure. */
static void add_column(
	struct columns *columns, const struct ranking *ranking, const struct whole_figure *whole, const char *head)
{
	char cell[PAGE_VALUE];
	if (columns->count == COLUMNS_MAX)
		return;
	struct column *column = &columns->columns[columns->count];
	bool is_known = false;
	*column = (struct column){ .whole = whole, .head = head, .cells = COLUMN_CELLS_MIN };
	for (size_t i = 0; i < ranking->count; i++) {
		const struct summary *of = ranking->rows[i].of;
		int cells = (int)text_cells(cell_of(ranking, column, i, cell));
		is_known |= isfinite(whole ? whole_value(of, whole) : summary_gauge(of, head));
		column->cells = cells > column->cells ? cells : column->cells;
	}
	if ((int)text_cells(head) > column->cells)
		column->cells = (int)text_cells(head);
	columns->count += is_known;
}

static void add_gauges(struct columns *columns, const struct ranking *ranking)
{
	for (size_t i = 0; i < ranking->count; i++) {
		for (size_t k = 0; k < ranking->rows[i].of->gauge_count; k++) {
			const char *name = ranking->rows[i].of->gauges[k].name;
			bool is_listed = whole_has_gauge(name);
			for (size_t before = 0; before < i; before++)
				is_listed |= isfinite(summary_gauge(ranking->rows[before].of, name));
			if (!is_listed)
				add_column(columns, ranking, NULL, name);
		}
	}
}

static void write_table(struct buffer *out, const struct ranking *ranking, const struct columns *columns, size_t from,
	size_t to, int label_cells)
{
	char label[400], cell[PAGE_VALUE];
	buffer_puts(out, "\n");
	page_left(out, label_cells, "");
	for (size_t k = from; k < to; k++)
		page_right(out, columns->columns[k].cells + GAP, columns->columns[k].head);
	buffer_puts(out, "\n");
	for (size_t i = 0; i < ranking->count; i++) {
		ranking_label(ranking, i, label, sizeof label);
		page_left(out, label_cells, label);
		for (size_t k = from; k < to; k++)
			page_right(out, columns->columns[k].cells + GAP, cell_of(ranking, &columns->columns[k], i, cell));
		buffer_puts(out, "\n");
	}
}

void ranking_columns(struct buffer *out, const struct ranking *ranking, int width, int label_cells)
{
	struct columns columns = { 0 };
	for (size_t i = 0; i < whole_figure_count; i++)
		if (whole_figures[i].head)
			add_column(&columns, ranking, &whole_figures[i], whole_figures[i].head);
	add_gauges(&columns, ranking);
	for (size_t from = 0, to; from < columns.count; from = to) {
		int used = label_cells;
		for (to = from; to < columns.count && (to == from || used + columns.columns[to].cells + GAP <= width); to++)
			used += columns.columns[to].cells + GAP;
		write_table(out, ranking, &columns, from, to, label_cells);
	}
}
