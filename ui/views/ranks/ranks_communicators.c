#include "ui/views/ranks/ranks_communicators.h"

#include <stdio.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/explain/ras_words.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/widgets/parts.h"

enum communicator_cell { CELL_HASH, CELL_RANKS, CELL_HOSTS, CELL_DEAD, CELL_SILENT, CELL_STILL, CELL_NOW, CELLS };

static const struct table_column columns[CELLS] = {
	[CELL_HASH] = { "COMMUNICATOR", 16, 0, true, false },
	[CELL_RANKS] = { "RANKS", 6, 0, false, false },
	[CELL_HOSTS] = { "HOSTS", 5, 0, false, false },
	[CELL_DEAD] = { "DEAD", 5, 0, false, false },
	[CELL_SILENT] = { "NO ANSWER", 9, 0, false, false },
	[CELL_STILL] = { "STILL FOR", 9, 0, false, false },
	[CELL_NOW] = { "NOW", 12, 0, true, true },
};

static size_t count_in(const struct ras_group *group, enum ras_state state)
{
	size_t count = 0;
	for (size_t i = 0; i < group->rank_count; i++)
		count += group->ranks[i].state == state;
	return count;
}

static void draw_count(const struct table *table, struct canvas *canvas, int y, int cell, size_t count)
{
	char text[NUMBER_SIZE];
	snprintf(text, sizeof text, "%zu", count);
	table_cell(table, canvas, y, cell, count && cell >= CELL_DEAD ? ROLE_CRITICAL : ROLE_NORMAL, text);
}

static void draw_row(const struct model *model, size_t index, const struct table *table, struct canvas *canvas, int y)
{
	const struct ras_group *group = &model->ras->groups[index];
	struct ras_judgement judgement;
	char text[COLLECTIVE_WORDS_SIZE], number[NUMBER_SIZE];
	ras_judge_group(model, index, &judgement);
	snprintf(text, sizeof text, "%llx", (unsigned long long)group->hash);
	table_cell(table, canvas, y, CELL_HASH, ROLE_STRONG, text);
	draw_count(table, canvas, y, CELL_RANKS, group->size);
	draw_count(table, canvas, y, CELL_HOSTS, ras_hosts(group));
	draw_count(table, canvas, y, CELL_DEAD, count_in(group, RAS_DEAD));
	draw_count(table, canvas, y, CELL_SILENT, count_in(group, RAS_UNRESPONSIVE));
	if (group->equal_answers > 0)
		table_cell(table, canvas, y, CELL_STILL, ROLE_NORMAL,
			format_seconds(number, seconds_between(group->still_ns, model->ras->read_ns)));
	table_cell(table, canvas, y, CELL_NOW, judgement.is_due ? ROLE_CRITICAL : ROLE_WARNING,
		ras_words(model, &judgement, text));
}

void ranks_communicators_draw(const struct scene *scene, struct canvas *canvas, struct rect *rect, bool is_followed)
{
	const struct ras *ras = scene->model->ras;
	int frame = parts_panel_rows(canvas), row = 0, wanted = (int)ras->group_count + 1 + frame, most = rect->height / 3;
	char title[96], age[NUMBER_SIZE];
	snprintf(title, sizeof title, "NCCL %s, answered %s ago", ras->version,
		parts_waiting(age, seconds_between(ras->read_ns, scene->model->now_ns)));
	struct rect top = rect_take_top(rect,
					!is_followed        ? rect->height
						: wanted < most ? wanted
										: most),
				inside = parts_panel(canvas, top, title, NULL, ROLE_TITLE), header = rect_take_top(&inside, 1);
	struct table table;
	table_fit(&table, columns, CELLS, header);
	table_header(&table, canvas, header.y, -1, false);
	for (size_t i = 0; i < ras->group_count && row < inside.height; i++)
		if (ras_is_current(ras, &ras->groups[i]))
			draw_row(scene->model, i, &table, canvas, inside.y + row++);
}
