#include <math.h>
#include <stdio.h>

#include "src/model/run/figures/late_figures.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"

enum figure_cell { CELL_NAME, CELL_COUNT, CELL_MEAN, CELL_MEDIAN, CELL_LAST, CELLS };

static const struct table_column columns[CELLS] = {
	[CELL_NAME] = { "FIGURE", 32, 0, true, true },
	[CELL_COUNT] = { "COUNT", 8, 1, false, false },
	[CELL_MEAN] = { "MEAN", 10, 0, false, false },
	[CELL_MEDIAN] = { "MEDIAN", 10, 0, false, false },
	[CELL_LAST] = { "LAST", 10, 2, false, false },
};

int panel_figures_height(const struct run *run, const struct canvas *canvas, int height)
{
	int wanted = parts_panel_rows(canvas) + 1 + (int)run->late_figure_count, max = height / 3;
	if (run->late_figure_count == 0 || max < parts_panel_rows(canvas) + 2)
		return 0;
	return wanted < max ? wanted : max;
}

static const char *value_text(char out[NUMBER_SIZE], enum figure_unit unit, double value, double like)
{
	switch (unit) {
	case FIGURE_SECONDS: return parts_time(out, value, like);
	case FIGURE_BYTES: return format_bytes(out, value);
	case FIGURE_RATIO: return format_percent(out, value);
	default: break;
	}
	snprintf(out, NUMBER_SIZE, isnan(value) ? "–" : "%.4g", value);
	return out;
}

static void draw_figure(
	const struct run *run, const struct late_figure *figure, const struct table *table, struct canvas *canvas, int y)
{
	char label[160], name[256], text[NUMBER_SIZE];
	enum figure_unit unit = late_figure_label(label, sizeof label, run_name(run, figure->name));
	double like = figure->median / 12;
	snprintf(
		name, sizeof name, is_main_mode(run, figure->mode) ? "%s" : "%s (%.80s)", label, run_name(run, figure->mode));
	table_cell(table, canvas, y, CELL_NAME, ROLE_NORMAL, name);
	table_cell(table, canvas, y, CELL_COUNT, ROLE_NORMAL, parts_thousands(text, (double)figure->count));
	table_cell(table, canvas, y, CELL_MEAN, ROLE_STRONG, value_text(text, unit, figure->mean, like));
	table_cell(table, canvas, y, CELL_MEDIAN, ROLE_STRONG, value_text(text, unit, figure->median, like));
	table_cell(table, canvas, y, CELL_LAST, ROLE_NORMAL, value_text(text, unit, figure->last, like));
}

void panel_figures(const struct run *run, struct canvas *canvas, struct rect rect)
{
	struct table table;
	struct line line;
	line_start(&line, " · ");
	line_add(&line, 0, ROLE_NORMAL, "median of the last 200");
	line_add(&line, 1, ROLE_NORMAL, "measured by their own clocks, not part of the times above");
	struct rect inside = parts_panel(canvas, rect, "Reported after the batch", &line, ROLE_TITLE),
				header = rect_take_top(&inside, 1);

	table_fit(&table, columns, CELLS, header);
	if (header.height > 0)
		table_header(&table, canvas, header.y, -1, false);
	for (int i = 0; i < inside.height && i < (int)run->late_figure_count; i++)
		draw_figure(run, &run->late_figures[i], &table, canvas, inside.y + i);
}
