/* The threads of a process that ran or waited for the GIL, with the line where each is. */
#include "ui/views/code/code_threads_panel.h"

#include <math.h>
#include <stdio.h>

#include "src/model/code/code_threads.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/code/code_lines.h"
#include "ui/widgets/parts.h"

enum { SHOWN_MAX = 64, ROWS_DEFAULT = 8, HEIGHT_MIN = 16 };

enum thread_cell { CELL_BUSY, CELL_WAITS, CELL_NAME, CELL_LOCATION, CELL_TEXT, CELLS };

static const struct table_column columns[CELLS] = {
	[CELL_BUSY] = { "BUSY", 5, 0, false, false },
	[CELL_WAITS] = { "GIL", 5, 1, false, false },
	[CELL_NAME] = { "THREAD", 16, 0, true, false },
	[CELL_LOCATION] = { "LINE", 20, 0, true, false },
	[CELL_TEXT] = { "CODE", 20, 2, true, true },
};

struct threads {
	size_t count, active;
	struct code_thread list[SHOWN_MAX]; /* the active ones first */
};

static const struct code_thread_samples *samples_of(const struct code_sampled *sample, const struct code_thread *thread)
{
	return sample->is_whole ? &thread->total : &thread->recent;
}

static void find_threads(const struct scene *scene, const struct code_sampled *sample, struct threads *out)
{
	out->count = sample->group->is_workers
		? 0
		: code_threads_of(scene->model, sample->index, sample->is_whole, out->list, SHOWN_MAX);
	for (out->active = 0; out->active < out->count; out->active++) {
		const struct code_thread_samples *samples = samples_of(sample, &out->list[out->active]);
		if (!(samples->busy + samples->waits > 0))
			break;
	}
}

int code_threads_height(
	const struct scene *scene, const struct code_sampled *sample, const struct canvas *canvas, int height)
{
	struct threads threads;
	find_threads(scene, sample, &threads);
	int wanted = (int)threads.active < ROWS_DEFAULT ? (int)threads.active : ROWS_DEFAULT,
		max = height / 4 - parts_panel_rows(canvas);
	if (wanted == 0 || height < HEIGHT_MIN)
		return 0;
	wanted = wanted < max ? wanted : max > 1 ? max : 1;
	return wanted + 1 + parts_panel_rows(canvas);
}

static void draw_thread(const struct code_sampled *sample, const struct code_thread *thread, const struct table *table,
	struct canvas *canvas, int y)
{
	const struct code_thread_samples *samples = samples_of(sample, thread);
	const struct code_node *node = thread->node ? &sample->code->nodes[thread->node - 1] : NULL;
	const struct code_name *name = node ? &sample->code->codes[node->code] : NULL;
	char text[300];
	table_cell(table, canvas, y, CELL_BUSY, ROLE_STRONG, format_percent(text, samples->busy / samples->all));
	table_cell(table, canvas, y, CELL_WAITS, samples->waits > 0 ? ROLE_WARNING : ROLE_DIM,
		format_percent(text, samples->waits / samples->all));
	if (thread->name)
		snprintf(text, sizeof text, "%.60s", thread->name);
	else
		snprintf(text, sizeof text, thread->tid ? "thread %d" : "–", (int)thread->tid);
	table_cell(table, canvas, y, CELL_NAME, ROLE_NORMAL, text);
	if (!node) {
		table_cell(table, canvas, y, CELL_LOCATION, ROLE_DIM, "no Python code");
		return;
	}
	table_cell(table, canvas, y, CELL_LOCATION, ROLE_NORMAL, code_location(name, node->line, text, sizeof text));
	snprintf(text, sizeof text, node->text ? "%s" : "in %s", node->text ? node->text : name->function);
	table_cell(table, canvas, y, CELL_TEXT, node->text ? ROLE_NORMAL : ROLE_DIM, text);
}

void code_threads_panel(
	const struct scene *scene, const struct code_sampled *sample, struct canvas *canvas, struct rect rect)
{
	struct threads threads;
	struct table table;
	struct line right;
	find_threads(scene, sample, &threads);
	line_start(&right, " · ");
	line_add(&right, 1, ROLE_NORMAL, "share of samples");
	if (threads.count > threads.active)
		line_add(&right, 0, ROLE_NORMAL, "%zu more asleep", threads.count - threads.active);
	struct rect inside = parts_panel(canvas, rect, "Other threads", &right, ROLE_TITLE),
				header = rect_take_top(&inside, inside.height > 1 ? 1 : 0);

	table_fit(&table, columns, CELLS, inside);
	if (header.height > 0)
		table_header(&table, canvas, header.y, CELL_BUSY, false);
	for (int i = 0; i < inside.height && i < (int)threads.active; i++)
		draw_thread(sample, &threads.list[i], &table, canvas, rect_row(inside, i).y);
}
