#include "ui/views/ranks/ranks_lost.h"

#include <stdio.h>

#include "src/base/text.h"
#include "src/explain/lost_words.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/widgets/parts.h"

enum lost_cell { CELL_CAUSE, CELL_RANK, CELL_SECONDS, CELL_SHARE, CELL_WORDS, CELLS };

static const struct table_column columns[CELLS] = {
	[CELL_CAUSE] = { "CAUSE", 16, 0, true, false },
	[CELL_RANK] = { "RANK", 13, 0, true, false },
	[CELL_SECONDS] = { "SECONDS", 9, 0, false, false },
	[CELL_SHARE] = { "SHARE", 6, 0, false, false },
	[CELL_WORDS] = { "", 16, 1, true, true },
};

static void draw_row(const struct lost_row *row, const struct table *table, struct canvas *canvas, int y)
{
	char text[LOST_WORDS_SIZE], share[NUMBER_SIZE];
	table_cell(table, canvas, y, CELL_CAUSE, ROLE_STRONG, lost_cause_name(row->cause));
	table_cell(table, canvas, y, CELL_RANK, ROLE_NORMAL, lost_words_rank(row, text));
	table_cell(table, canvas, y, CELL_SECONDS, ROLE_NORMAL, lost_words_seconds(row->seconds, text));
	table_cell(table, canvas, y, CELL_SHARE, ROLE_NORMAL, format_percent(share, row->share_ratio));
	table_cell(table, canvas, y, CELL_WORDS, ROLE_DIM, lost_words_cause(row->cause));
}

void ranks_lost_draw(const struct scene *scene, struct canvas *canvas, struct rect *rect)
{
	struct lost_time lost;
	struct table table;
	char words[LOST_WORDS_SIZE], title[LOST_WORDS_SIZE];
	lost_time_measure(scene->model, &lost);
	if (!lost.is_known)
		return;
	int sentence = lost.without >= 0, rest = parts_panel_rows(canvas) + 1 + sentence, wanted = (int)lost.count + rest,
		most = rect->height / 3 > rest ? rect->height / 3 : rest + 1;
	snprintf(title, sizeof title, "Lost time: %.100s", lost_words_total(&lost, words));
	struct rect top = rect_take_top(rect, wanted < most ? wanted : most),
				inside = parts_panel(canvas, top, title, NULL, ROLE_TITLE), last = rect_take_bottom(&inside, sentence),
				header = rect_take_top(&inside, 1);
	table_fit(&table, columns, CELLS, header);
	table_header(&table, canvas, header.y, -1, false);
	for (int i = 0; i < inside.height && i < (int)lost.count; i++)
		draw_row(&lost.rows[i], &table, canvas, inside.y + i);
	parts_wrap(canvas, last, ROLE_WARNING, lost_words_without(&lost, words));
}
