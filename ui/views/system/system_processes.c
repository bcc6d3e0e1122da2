#include "ui/views/system/system_processes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/overview/panel_lists.h"
#include "ui/views/overview/panel_workers.h"
#include "ui/widgets/parts.h"

enum process_cell {
	CELL_PID,
	CELL_COMMAND,
	CELL_STATE,
	CELL_SINCE,
	CELL_WAITS_IN,
	CELL_CPU,
	CELL_QUEUE,
	CELL_READS,
	CELL_WRITES,
	CELL_FAULTS,
	CELL_THREADS,
	CELL_DESCRIPTORS,
	CELLS,
};

static const struct table_column columns[CELLS] = {
	[CELL_PID] = { "PID", 7, 0, false, false },
	[CELL_COMMAND] = { "COMMAND", 13, 0, true, true },
	[CELL_STATE] = { "STATE", 14, 0, true, false },
	[CELL_SINCE] = { "FOR", 6, 6, false, false },
	[CELL_WAITS_IN] = { "WAITS IN", 21, 5, true, false },
	[CELL_CPU] = { "CPU", 6, 0, false, false },
	[CELL_QUEUE] = { "CPU WAIT", 8, 4, false, false },
	[CELL_READS] = { "READS", 9, 1, false, false },
	[CELL_WRITES] = { "WRITES", 9, 2, false, false },
	[CELL_FAULTS] = { "MAJFLT/s", 8, 3, false, false },
	[CELL_THREADS] = { "THREADS", 7, 8, false, false },
	[CELL_DESCRIPTORS] = { "FILES", 6, 7, false, false },
};

static double value_of(const struct process *process, int cell)
{
	switch (cell) {
	case CELL_PID: return process->pid;
	case CELL_SINCE: return process->state_since_s;
	case CELL_CPU: return process->cpu_ratio;
	case CELL_QUEUE: return process->run_queue_wait_ratio;
	case CELL_READS: return process->read_bytes_per_s;
	case CELL_WRITES: return process->write_bytes_per_s;
	case CELL_FAULTS: return process->major_faults_per_s;
	case CELL_THREADS: return process->now[METRIC_PROCESS_THREADS];
	case CELL_DESCRIPTORS: return process->now[METRIC_PROCESS_DESCRIPTORS];
	default: return NAN;
	}
}

/* `worker` may be NULL. */
static const char *text_of(
	const struct process *process, const struct worker_shown *worker, int cell, char out[NUMBER_SIZE])
{
	double value = value_of(process, cell);
	switch (cell) {
	case CELL_PID: snprintf(out, NUMBER_SIZE, "%d", process->pid); return out;
	case CELL_COMMAND: return worker ? worker_cell(worker, WORKER_CELL_NAME, out) : process->command;
	case CELL_STATE:
		if (worker)
			return worker_cell(worker, WORKER_CELL_STATE, out);
		return process->is_gone ? "gone" : process_state_words(process->now[METRIC_PROCESS_STATE]);
	case CELL_SINCE: return parts_waiting(out, value);
	case CELL_WAITS_IN: return process->wait[0] != '\0' && strcmp(process->wait, "0") != 0 ? process->wait : "–";
	case CELL_CPU:
	case CELL_QUEUE: return format_percent(out, value);
	case CELL_READS:
	case CELL_WRITES: return parts_bytes_per_s(out, value);
	case CELL_FAULTS: return format_rate(out, value);
	default: return format_count(out, value);
	}
}

/* -- sorting -- */

/* qsort passes no context, so each row carries its sort key. */
struct sorted {
	const struct process *process;
	const char *text;
	double value;
	size_t index;
	int direction;
};

static int compare(const void *left, const void *right)
{
	const struct sorted *a = left, *b = right;
	int order = 0;
	if (a->text)
		order = strcmp(a->text, b->text);
	else if (isnan(a->value) || isnan(b->value))
		return isnan(a->value) != isnan(b->value) ? (isnan(a->value) ? 1 : -1)
												  : (a->index > b->index) - (a->index < b->index);
	else
		order = (a->value > b->value) - (a->value < b->value);
	return order != 0 ? order * a->direction : (a->index > b->index) - (a->index < b->index);
}

static const char *sort_text(const struct process *process, int cell)
{
	switch (cell) {
	case CELL_COMMAND: return process->command;
	case CELL_STATE: return process->is_gone ? "gone" : process_state_words(process->now[METRIC_PROCESS_STATE]);
	case CELL_WAITS_IN: return process->wait;
	default: return NULL;
	}
}

size_t system_processes(const struct scene *scene, const struct process *rows[PROCESS_ROWS_MAX])
{
	const struct view_state *state = scene->state;
	size_t count = process_rows(scene, rows);
	struct sorted sorted[PROCESS_ROWS_MAX];
	if (state->sort == CELL_PID && !state->sort_ascending)
		return count;
	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct sorted){ rows[i], sort_text(rows[i], state->sort), value_of(rows[i], state->sort), i,
			state->sort_ascending ? 1 : -1 };
	qsort(sorted, count, sizeof sorted[0], compare);
	for (size_t i = 0; i < count; i++)
		rows[i] = sorted[i].process;
	return count;
}

/* -- drawing -- */

static void draw_process(
	const struct scene *scene, const struct table *table, struct canvas *canvas, int y, const struct process *process)
{
	const struct worker_shown *worker = worker_of(scene->model, process->pid);
	enum role role = process->is_gone ? ROLE_DIM : process->is_target ? ROLE_STRONG : ROLE_NORMAL;
	double now = process->is_gone ? NAN : process->now[METRIC_PROCESS_STATE];
	bool is_waiting = now == 'D' || now == 'T' || now == 't' || now == 'Z';
	char text[NUMBER_SIZE];
	for (int cell = 0; cell < CELLS; cell++) {
		bool is_of_state = cell == CELL_STATE || cell == CELL_SINCE || cell == CELL_WAITS_IN;

		table_cell(table, canvas, y, cell, is_waiting && is_of_state ? ROLE_WARNING : role,
			text_of(process, worker, cell, text));
	}
}

static void fit(struct table *table, struct rect rect) { table_fit(table, columns, CELLS, rect); }

void system_process_table(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct process *rows[PROCESS_ROWS_MAX];
	struct view_state *state = scene->state;
	int count = (int)system_processes(scene, rows);
	struct rect header = rect_take_top(&rect, 1);
	struct table table;
	if (header.height == 0)
		return;
	fit(&table, header);
	table_header(&table, canvas, header.y, state->sort == CELL_PID && !state->sort_ascending ? -1 : state->sort,
		state->sort_ascending);
	parts_list_settle(state, count, rect.height);
	state->list = rect;
	for (int i = 0; i < rect.height && state->scroll + i < count; i++) {
		struct rect row = rect_row(rect, i);

		draw_process(scene, &table, canvas, row.y, rows[state->scroll + i]);
		if (state->scroll + i == state->row)
			parts_select(canvas, row);
	}
}

static bool click_header(struct view_state *state, struct key_event event)
{
	struct table table;
	int column;
	if (event.y != state->list.y - 1 || state->list.width == 0)
		return false;
	fit(&table, state->list);
	column = table_column_at(&table, event.x);
	if (column < 0)
		return true;
	parts_sort_by(state, column);
	return true;
}

bool system_process_key(struct scene *scene, struct key_event event)
{
	struct view_state *state = scene->state;
	return event.key == KEY_CLICK ? click_header(state, event) : parts_sort_key(state, event, CELLS);
}
