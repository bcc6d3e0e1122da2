#include "ui/views/ranks/ranks_groups.h"

#include <math.h>
#include <stdio.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/explain/collective_words.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/widgets/parts.h"

enum group_cell {
	GROUP_NAME,
	GROUP_LIBRARY,
	GROUP_RANKS,
	GROUP_ENTERED,
	GROUP_INTERVAL,
	GROUP_SKEW,
	GROUP_NOW,
	GROUPS
};
enum new_cell { NEW_NUMBER, NEW_NAME, NEW_SIZES, NEW_TIME, NEW_SKEW, NEW_LAST, NEWS };

static const struct table_column group_columns[GROUPS] = {
	[GROUP_NAME] = { "GROUP", 16, 0, true, false },
	[GROUP_LIBRARY] = { "BY", 5, 3, true, false },
	[GROUP_RANKS] = { "RANKS", 5, 1, false, false },
	[GROUP_ENTERED] = { "ENTERED", 9, 0, false, false },
	[GROUP_INTERVAL] = { "EVERY", 8, 2, false, false },
	[GROUP_SKEW] = { "SKEW", 8, 0, false, false },
	[GROUP_NOW] = { "NOW", 12, 0, true, true },
};

static const struct table_column new_columns[NEWS] = {
	[NEW_NUMBER] = { "NUMBER", 9, 0, false, false },
	[NEW_NAME] = { "COLLECTIVE", 22, 0, true, false },
	[NEW_SIZES] = { "SIZES", 18, 2, true, false },
	[NEW_TIME] = { "ENTERED", 9, 3, false, false },
	[NEW_SKEW] = { "SKEW", 8, 0, false, false },
	[NEW_LAST] = { "LAST", 10, 0, true, true },
};

static size_t size_of(const struct collectives *all, size_t group, int64_t *newest)
{
	size_t size = 0;
	*newest = -1;
	for (size_t i = 0; i < all->rank_count; i++) {
		if (!collective_is_member(all, &all->groups[group], i))
			continue;
		size++;
		*newest = all->groups[group].members[i].enqueued > *newest ? all->groups[group].members[i].enqueued : *newest;
	}
	return size;
}

int ranks_groups_largest(const struct model *model)
{
	const struct collectives *all = model->collectives;
	int found = -1;
	size_t most = 0;
	int64_t most_newest = -1;
	for (size_t i = 0; all && i < all->group_count; i++) {
		int64_t newest;
		size_t size = all->groups[i].is_used ? size_of(all, i, &newest) : 0;
		if (size == 0 || size < most || (size == most && newest <= most_newest))
			continue;
		most = size;
		most_newest = newest;
		found = (int)i;
	}
	return found;
}

static void draw_group(const struct scene *scene, size_t group, const struct table *table, struct canvas *canvas, int y)
{
	const struct collectives *all = scene->model->collectives;
	struct collective_judgement judgement;
	struct collective_pace pace;
	char text[COLLECTIVE_WORDS_SIZE], number[NUMBER_SIZE];
	int64_t newest;
	size_t size = size_of(all, group, &newest);
	collectives_judge_group(scene->model, group, &judgement);
	collectives_pace(scene->model, group, &pace);
	table_cell(table, canvas, y, GROUP_NAME, ROLE_STRONG, all->groups[group].name);
	table_cell(table, canvas, y, GROUP_LIBRARY, ROLE_DIM, all->groups[group].is_device ? "NCCL" : "gloo");
	snprintf(text, sizeof text, "%zu", size);
	table_cell(table, canvas, y, GROUP_RANKS, ROLE_NORMAL, text);
	snprintf(text, sizeof text, "#%lld", (long long)newest);
	table_cell(table, canvas, y, GROUP_ENTERED, ROLE_NORMAL, newest >= 0 ? text : "–");
	table_cell(table, canvas, y, GROUP_INTERVAL, ROLE_NORMAL, parts_time(number, pace.interval_s, pace.interval_s));
	table_cell(table, canvas, y, GROUP_SKEW, ROLE_NORMAL, parts_time(number, pace.skew_s, pace.skew_s));
	if (judgement.is_due)
		table_cell(table, canvas, y, GROUP_NOW, ROLE_CRITICAL, collective_words(scene->model, &judgement, text));
}

static void draw_new(
	const struct scene *scene, int group, uint64_t sequence, const struct table *table, struct canvas *canvas, int y)
{
	const struct collectives *all = scene->model->collectives;
	const struct collective_slot *slot = collective_slot_of(&all->groups[group], sequence);
	char text[COLLECTIVE_RANK_SIZE], number[NUMBER_SIZE];
	int64_t first_ns = 0, last_ns = 0;
	size_t last = 0, known = 0;
	bool is_whole = collectives_entered(scene->model, (size_t)group, sequence, &first_ns, &last_ns, &last);
	double skew_s = is_whole ? seconds_between(first_ns, last_ns) : (double)NAN;
	while (known + 1 < all->rank_count && !slot->entries[known].op)
		known++;
	const struct collective_op *op = collective_op_of(all, slot->entries[known].op);
	snprintf(text, sizeof text, "#%llu", (unsigned long long)sequence);
	table_cell(table, canvas, y, NEW_NUMBER, ROLE_NORMAL, text);
	table_cell(table, canvas, y, NEW_NAME, ROLE_NORMAL, op ? op->name : "–");
	table_cell(table, canvas, y, NEW_SIZES, ROLE_DIM, op && op->sizes[0] ? op->sizes : "–");
	table_cell(table, canvas, y, NEW_TIME, ROLE_NORMAL, parts_clock(number, scene, slot->entries[known].entered_ns));
	table_cell(table, canvas, y, NEW_SKEW, ROLE_NORMAL, parts_time(number, skew_s, skew_s));
	table_cell(table, canvas, y, NEW_LAST, is_whole ? ROLE_NORMAL : ROLE_WARNING,
		is_whole ? collective_rank_words(scene->model, last, text) : "incomplete");
}

static void draw_groups(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct rect inside = parts_panel(canvas, rect, "Process groups", NULL, ROLE_TITLE),
				header = rect_take_top(&inside, 1);
	struct table table;
	table_fit(&table, group_columns, GROUPS, header);
	table_header(&table, canvas, header.y, -1, false);
	for (size_t i = 0, row = 0; i < scene->model->collectives->group_count && (int)row < inside.height; i++)
		if (scene->model->collectives->groups[i].is_used)
			draw_group(scene, i, &table, canvas, inside.y + (int)row++);
}

static void draw_newest(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	int group = ranks_groups_largest(scene->model);
	struct rect inside = parts_panel(canvas, rect, "Newest collectives", NULL, ROLE_TITLE),
				header = rect_take_top(&inside, 1);
	struct table table;
	int64_t newest;
	table_fit(&table, new_columns, NEWS, header);
	table_header(&table, canvas, header.y, -1, false);
	size_of(scene->model->collectives, (size_t)group, &newest);
	for (int row = 0; newest > 0 && row < inside.height; newest--) {
		if (!collective_slot_of(&scene->model->collectives->groups[group], (uint64_t)newest))
			break;
		draw_new(scene, group, (uint64_t)newest, &table, canvas, inside.y + row++);
	}
}

void ranks_groups_draw(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	int frame = parts_panel_rows(canvas), wanted = (int)scene->model->collectives->group_count + 1 + frame,
		most = rect.height / 2;
	draw_groups(scene, canvas, rect_take_top(&rect, wanted < most ? wanted : most));
	if (rect.height > frame + 1)
		draw_newest(scene, canvas, rect);
}
