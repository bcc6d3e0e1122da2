#include "ui/views/overview/panel_lists.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/rules/alerts_list.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/overview/panel_workers.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"

/* -- warnings -- */

/* Draws the message and its first advice: in the row below if `has_advice`, or behind it if it fits whole. Returns
 * the rows used. */
static int draw_warning(struct canvas *canvas, struct rect rect, const struct alert *alert, bool has_advice)
{
	struct rect row = rect_row(rect, 0);
	char advice[sizeof alert->advice[0] + 8] = "";
	int used;
	canvas_text(canvas, row.x, row.y, 2, parts_severity_role(alert->severity), parts_severity_sign(alert->severity));
	rect_take_left(&row, 2);
	used = canvas_text(canvas, row.x, row.y, row.width, ROLE_NORMAL, alert->message) + 2;
	if (alert->advice_count > 0)
		snprintf(advice, sizeof advice, "→ %s", alert->advice[0]);
	if ((int)text_cells(advice) <= row.width - used) {
		canvas_text(canvas, row.x + used, row.y, row.width - used, ROLE_DIM, advice);
		return 1;
	}
	if (!has_advice || rect.height < 2)
		return 1;
	canvas_text(canvas, row.x, row.y + 1, row.width, ROLE_DIM, advice);
	return 2;
}

void panel_warnings(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct alerts *alerts = scene->alerts;
	int raised = (int)alerts_raised(alerts), shown = 0;
	struct line line;
	line_start(&line, "  ");
	line_add(&line, 0, ROLE_KEY, "[8] all warnings");
	struct rect inside = parts_panel(canvas, rect, "Warnings", &line, ROLE_TITLE);
	if (parts_is_roomy(canvas))
		rect_take_left(&inside, 1);
	bool has_advice = inside.height >= 5 || inside.height >= 2 * raised;

	for (size_t i = 0; i < alerts->count && inside.height > 0; i++) {
		if (!alerts->list[i].is_raised)
			continue;
		if (inside.height == 1 && shown + 1 < raised && shown > 0) {
			canvas_printf(canvas, inside.x, inside.y, inside.width, ROLE_DIM, "  and %d more warnings", raised - shown);
			return;
		}
		rect_take_top(&inside, draw_warning(canvas, inside, &alerts->list[i], has_advice));
		shown++;
	}
	if (raised == 0)
		canvas_text(canvas, inside.x, inside.y, inside.width, ROLE_GOOD, "no warnings so far");
}

/* -- processes -- */

const char *process_state_words(double state)
{
	static const struct {
		char code;
		const char *words;
	} table[] = {
		{ 'R', "running" },
		{ 'S', "sleeping" },
		{ 'D', "waits for disk" },
		{ 'T', "stopped" },
		{ 't', "traced" },
		{ 'Z', "zombie" },
		{ 'X', "dead" },
		{ 'I', "idle" },
	};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (state == (double)table[i].code)
			return table[i].words;
	return "–";
}

/* Ended processes are shown for a while; a dead worker until another takes its place. */
#define GONE_SHOWN_NS (10 * NS_PER_S)

size_t process_rows(const struct scene *scene, const struct process *rows[PROCESS_ROWS_MAX])
{
	const struct model *model = scene->model;
	size_t count = 0;
	for (size_t i = 0; i < model->process_count && count < PROCESS_ROWS_MAX; i++) {
		const struct process *process = &model->processes[i];

		if (!process->is_gone || process->is_target || scene->now_ns - process->gone_ns < GONE_SHOWN_NS ||
			worker_of(model, process->pid) != NULL)
			rows[count++] = process;
	}
	return count;
}

enum process_cell {
	CELL_PID,
	CELL_COMMAND,
	CELL_STATE,
	CELL_BUSY,
	CELL_ITEM,
	CELL_RATE,
	CELL_SINCE,
	CELL_CPU,
	CELL_RESIDENT,
	CELL_GREW,
	CELL_SWAP,
	CELL_WAIT,
	CELL_READ,
	CELL_FAULTS,
	PROCESS_CELLS,
};

static const struct table_column process_columns[PROCESS_CELLS] = {
	[CELL_PID] = { "PID", 7, 0, false, false },
	[CELL_COMMAND] = { "COMMAND", 12, 0, true, true },
	[CELL_STATE] = { "STATE", 14, 1, true, false },
	[CELL_BUSY] = { "BUSY", 6, 2, false, false },
	[CELL_ITEM] = { "PER SAMPLE", 10, 1, false, false },
	[CELL_RATE] = { "SAMPLES/s", 9, 2, false, false },
	[CELL_SINCE] = { "FOR", 7, 5, false, false },
	[CELL_CPU] = { "CPU", 6, 1, false, false },
	[CELL_RESIDENT] = { "RESIDENT", 8, 0, false, false },
	[CELL_GREW] = { "GROWTH", 8, 2, false, false },
	[CELL_SWAP] = { "SWAP", 8, 3, false, false },
	[CELL_WAIT] = { "CPU WAIT", 8, 4, false, false },
	[CELL_READ] = { "READS", 10, 4, false, false },
	[CELL_FAULTS] = { "MAJFLT/s", 8, 6, false, false },
};

/* The cells that an instrumented worker fills, and its form of each. */
static const char *cell_of_worker(const struct worker_shown *worker, enum process_cell cell, char out[NUMBER_SIZE])
{
	switch (cell) {
	case CELL_COMMAND: return worker_cell(worker, WORKER_CELL_NAME, out);
	case CELL_STATE: return worker_cell(worker, WORKER_CELL_STATE, out);
	case CELL_BUSY: return worker_cell(worker, WORKER_CELL_BUSY, out);
	case CELL_ITEM: return worker_cell(worker, WORKER_CELL_ITEM, out);
	case CELL_RATE: return worker_cell(worker, WORKER_CELL_RATE, out);
	default: return NULL;
	}
}

static const char *process_cell(const struct process *process, enum process_cell cell, char out[NUMBER_SIZE])
{
	switch (cell) {
	case CELL_PID: snprintf(out, NUMBER_SIZE, "%d", process->pid); return out;
	case CELL_COMMAND: return process->command;
	case CELL_STATE: return process->is_gone ? "gone" : process_state_words(process->now[METRIC_PROCESS_STATE]);
	case CELL_SINCE: return parts_waiting(out, process->state_since_s);
	case CELL_CPU: return format_percent(out, process->cpu_ratio);
	case CELL_RESIDENT: return format_bytes(out, process->now[METRIC_PROCESS_RESIDENT]);
	case CELL_GREW:
		return process->grown_bytes > 0   ? format_bytes(out, process->grown_bytes)
			: isnan(process->grown_bytes) ? "–"
										  : "0 B";
	case CELL_SWAP: return format_bytes(out, process->now[METRIC_PROCESS_SWAP]);
	case CELL_WAIT: return format_percent(out, process->run_queue_wait_ratio);
	case CELL_READ: return parts_bytes_per_s(out, process->read_bytes_per_s);
	case CELL_FAULTS: return format_rate(out, process->major_faults_per_s);
	default: return "";
	}
}

static void draw_process_row(
	const struct scene *scene, const struct table *table, struct canvas *canvas, int y, const struct process *process)
{
	const struct worker_shown *worker = worker_of(scene->model, process->pid);
	enum role role = process->is_gone ? ROLE_DIM : process->is_target ? ROLE_STRONG : ROLE_NORMAL;
	bool waits_for_disk = process->now[METRIC_PROCESS_STATE] == 'D' && !process->is_gone;
	const struct run *run = scene_run(scene);
	char text[NUMBER_SIZE], named[sizeof process->command + 8];
	snprintf(named, sizeof named, "%s (main)", process->command);
	for (int cell = 0; cell < PROCESS_CELLS; cell++) {
		enum role cell_role = waits_for_disk && (cell == CELL_STATE || cell == CELL_SINCE) ? ROLE_WARNING : role;

		const char *of_worker = worker ? cell_of_worker(worker, (enum process_cell)cell, text) : NULL;

		table_cell(table, canvas, y, cell, cell_role,
			cell == CELL_COMMAND && run && run->pid == process->pid ? named
				: of_worker                                         ? of_worker
							: process_cell(process, (enum process_cell)cell, text));
	}
}

void process_table(const struct scene *scene, struct canvas *canvas, struct rect rect, struct view_state *state)
{
	struct rect header = rect_take_top(&rect, 1);
	const struct process *rows[PROCESS_ROWS_MAX];
	int count = (int)process_rows(scene, rows), first = 0;
	struct table_column columns[PROCESS_CELLS];
	struct table table;
	memcpy(columns, process_columns, sizeof columns);
	if (!workers_are_instrumented(scene))
		columns[CELL_BUSY].width = columns[CELL_ITEM].width = columns[CELL_RATE].width = 0;
	table_fit(&table, columns, PROCESS_CELLS, header);
	if (header.height > 0)
		table_header(&table, canvas, header.y, -1, false);
	if (state) {
		parts_list_settle(state, count, rect.height);
		state->list = rect;
		first = state->scroll;
	}
	for (int i = first; i < count && i - first < rect.height; i++) {
		struct rect row = rect_row(rect, i - first);

		draw_process_row(scene, &table, canvas, row.y, rows[i]);
		if (state && i == state->row)
			parts_select(canvas, row);
	}
}
