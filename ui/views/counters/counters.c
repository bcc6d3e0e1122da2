/* Counters: hardware and software events of the run, figures derived from them, and their split by process. */
#include "src/model/machine/perf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/counters/counters_figures.h"
#include "ui/views/counters/counters_parts.h"
#include "ui/views/counters/counters_processes.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/over_time.h"
#include "ui/widgets/plots/trace.h"

static int clamp(int value, int min, int max) { return value < min ? min : value > max ? max : value; }

/* -- words and numbers -- */

static const char *const role_words[PERF_ROLE_COUNT] = {
#define ROLE_WORDS(id, words, is_software) [PERF_ROLE_##id] = words,
	PERF_ROLES(ROLE_WORDS)
#undef ROLE_WORDS
};

const char *counter_words(const struct perf_event_now *event)
{
	if (event->role == PERF_ROLE_OTHER || event->role >= PERF_ROLE_COUNT)
		return event->name;
	return role_words[event->role];
}

const char *counter_amount(char out[NUMBER_SIZE], enum perf_role role, double amount)
{
	if (role == PERF_ROLE_TASK_CLOCK)
		return format_seconds(out, amount * 1e-9);
	return role == PERF_ROLE_MEMORY_BYTES ? format_bytes(out, amount) : format_rate(out, amount);
}

/* Whole numbers without decimals. */
static const char *total_of(char out[NUMBER_SIZE], const struct perf_event_now *event)
{
	bool is_count = event->role != PERF_ROLE_TASK_CLOCK && event->role != PERF_ROLE_MEMORY_BYTES;
	return is_count ? format_count(out, rint(event->total)) : counter_amount(out, event->role, event->total);
}

const char *counter_rate(char out[NUMBER_SIZE], enum perf_role role, double per_s)
{
	char text[NUMBER_SIZE];
	if (isnan(per_s))
		return format_rate(out, NAN);
	if (role == PERF_ROLE_TASK_CLOCK)
		snprintf(out, NUMBER_SIZE, "%.20s CPUs", format_rate(text, per_s * 1e-9));
	else
		snprintf(out, NUMBER_SIZE, "%.24s/s",
			role == PERF_ROLE_MEMORY_BYTES ? format_bytes(text, per_s) : format_rate(text, per_s));
	return out;
}

double counter_batches(const struct scene *scene)
{
	const struct run *run = scene_run(scene);
	return run && run_main(run)->rate_per_s > 0 ? run_main(run)->rate_per_s : NAN;
}

const struct missing *counter_missing(const struct model *model, const char *about)
{
	for (size_t i = 0; i < model->missing_count; i++)
		if (parts_matches(model->missing[i].figure, about) && model->missing[i].subject != MISSING_GPU)
			return &model->missing[i];
	return NULL;
}

/* -- events -- */

enum event_cell { CELL_EVENT, CELL_RATE, CELL_BATCH, CELL_TOTAL, CELL_COUNTED, CELL_NAME, EVENT_CELLS };

static const struct table_column event_columns[EVENT_CELLS] = {
	[CELL_EVENT] = { "EVENT", 20, 0, true, false },
	[CELL_RATE] = { "RATE", 10, 0, false, false },
	[CELL_BATCH] = { "/BATCH", 8, 1, false, false },
	[CELL_TOTAL] = { "TOTAL", 8, 2, false, false },
	[CELL_COUNTED] = { "COUNTED", 7, 1, false, false },
	[CELL_NAME] = { "PERF NAME", 18, 3, true, true },
};

/* Indices into perf->events of the events in use. */
static int used_events(const struct perf *perf, int indices[PERF_EVENTS_MAX])
{
	int count = 0;
	for (unsigned i = 0; i < perf->event_count && i < PERF_EVENTS_MAX; i++)
		if (perf->events[i].is_used)
			indices[count++] = (int)i;
	return count;
}

static const char *event_cell(
	const struct scene *scene, const struct perf_event_now *event, enum event_cell cell, char out[NUMBER_SIZE])
{
	switch (cell) {
	case CELL_EVENT: return counter_words(event);
	case CELL_RATE: return counter_rate(out, event->role, event->per_s);
	case CELL_BATCH: return counter_amount(out, event->role, event->per_s / counter_batches(scene));
	case CELL_TOTAL: return total_of(out, event);
	case CELL_COUNTED: return format_percent(out, event->counted_ratio);
	case CELL_NAME: return event->name;
	default: return "";
	}
}

static enum role event_role(const struct perf_event_now *event, enum event_cell cell)
{
	if (cell == CELL_COUNTED)
		return event->counted_ratio < 0.25 ? ROLE_WARNING : ROLE_DIM;
	return cell == CELL_EVENT ? ROLE_NORMAL
		: cell == CELL_RATE   ? ROLE_STRONG
		: cell == CELL_NAME   ? ROLE_DIM
							  : ROLE_NORMAL;
}

static void panel_events(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct perf *perf = &scene->model->perf;
	struct view_state *state = scene->state;
	int indices[PERF_EVENTS_MAX], count = used_events(perf, indices);
	struct table table;
	struct line line;
	char text[NUMBER_SIZE];
	line_start(&line, " · ");
	line_add(&line, 0, ROLE_NORMAL, "%d", count);
	line_add(&line, 1, ROLE_NORMAL, "all threads of the run, over %s",
		parts_waiting(text, (double)(scene->now_ns - perf->since_ns) * 1e-9));
	struct rect inside = parts_panel(canvas, rect, "Events", &line, ROLE_TITLE),
				header = rect_take_top(&inside, inside.height > 1 ? 1 : 0);

	table_fit(&table, event_columns, EVENT_CELLS, inside);
	if (header.height > 0)
		table_header(&table, canvas, header.y, -1, false);
	parts_list_settle(state, count, inside.height);
	state->list = inside;
	for (int i = state->scroll; i < count && i - state->scroll < inside.height; i++) {
		const struct perf_event_now *event = &perf->events[indices[i]];
		struct rect row = rect_row(inside, i - state->scroll);

		for (int cell = 0; cell < EVENT_CELLS; cell++)
			table_cell(&table, canvas, row.y, cell, event_role(event, (enum event_cell)cell),
				event_cell(scene, event, (enum event_cell)cell, text));
		if (i == state->row)
			parts_select(canvas, row);
	}
}

/* -- the chosen one over time -- */

static const struct perf_event_now *chosen_event(const struct scene *scene)
{
	int indices[PERF_EVENTS_MAX], count = used_events(&scene->model->perf, indices);
	int row = clamp(scene->state->row, 0, count - 1);
	return count > 0 ? &scene->model->perf.events[indices[row]] : NULL;
}

static void panel_plot(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct perf_event_now *event = chosen_event(scene);
	char rate[NUMBER_SIZE], title[100];
	struct line line;
	line_start(&line, " · ");
	if (!event)
		return;
	bool is_time = event->role == PERF_ROLE_TASK_CLOCK;
	struct over_time what = {
		.from_ns = trace_since(scene, scene->state->zoom),
		.unit = event->role == PERF_ROLE_MEMORY_BYTES ? PLOT_BYTES
			: is_time                                 ? PLOT_CPUS
													  : PLOT_COUNT,
		.from_zero = true,
		.level = NAN,
		.count = 1,
		.lines = { { event->series, ROLE_PLOT } },
	};

	snprintf(title, sizeof title, "%s%s", counter_words(event), is_time ? "" : " per second");
	line_add(&line, 0, ROLE_NORMAL, "%s", counter_rate(rate, event->role, event->per_s));
	over_time_draw(scene, canvas, parts_panel(canvas, rect, title, &line, ROLE_TITLE), &scene->state->scales[0], &what);
}

/* -- the whole -- */

static const char starting[] =
	"pmtop starts the counters when this view opens; the first figures appear in a moment.\n"
	"Open counters slow each context switch a little, so pmtop opens none before. This view names counters that the "
	"CPU or a permission refuses; "
	"software events (CPU time, faults, context switches) work everywhere.\n"
	"pmtop --counters, or counters: always: true in pmtop.yaml, counts from the start.";

static void draw_nothing(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct missing *missing = counter_missing(scene->model, "counters");
	/* counters that start only when this view opens are about to come */
	bool waits_for_us = missing == NULL || parts_matches(missing->remedy, "view 9");
	char text[640];
	if (!waits_for_us)
		snprintf(text, sizeof text, "Not counted: %s.\n%s%s%spmtop doctor lists what each counter needs here.",
			missing->text, missing->remedy[0] != '\0' ? "Try: " : "", missing->remedy,
			missing->remedy[0] != '\0' ? ".\n" : "");
	else if (scene->replay)
		snprintf(
			text, sizeof text, "This recording has no counters up to here.\npmtop record --counters records them.");
	else
		snprintf(text, sizeof text, "%s", starting);
	parts_note(canvas, rect, "Counters", text);
}

static void panel_figures(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct rect inside = parts_panel(canvas, rect, "Derived figures", NULL, ROLE_TITLE);
	rect_take_left(&inside, 1);
	counter_figures(scene, canvas, inside);
}

static void panel_of_processes(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct line line;
	line_start(&line, " · ");
	line_add(&line, 0, ROLE_NORMAL, "%zu", scene->model->perf.process_count);
	counter_processes(scene, canvas, parts_panel(canvas, rect, "Processes", &line, ROLE_TITLE));
}

static void draw_wide(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	int frame = parts_panel_rows(canvas), indices[PERF_EVENTS_MAX],
		events = used_events(&scene->model->perf, indices) + 1, figures = counter_figures_rows(scene->model);
	int wanted = frame + (events > figures ? events : figures);
	struct rect top = rect_take_top(&rect, clamp(wanted, 0, rect.height * 3 / 5)),
				left = rect_take_left(&top, top.width / 2);
	if (!parts_is_roomy(canvas))
		rect_take_right(&left, 1);
	panel_figures(scene, canvas, left);
	panel_events(scene, canvas, top);
	left = rect_take_left(&rect, rect.width / 2);
	if (!parts_is_roomy(canvas))
		rect_take_right(&left, 1);
	panel_of_processes(scene, canvas, left);
	panel_plot(scene, canvas, rect);
}

static void draw_narrow(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	int frame = parts_panel_rows(canvas), processes = clamp((int)scene->model->perf.process_count, 1, 2);
	struct rect below = rect_take_bottom(&rect, rect.height >= 18 ? frame + 1 + processes : 0);
	struct rect plot = rect_take_bottom(&rect, rect.height >= 16 ? frame + clamp(rect.height / 4, 3, 8) : 0);
	struct rect events = rect_take_bottom(&rect, rect.height >= 10 ? rect.height / 2 : 0);
	panel_figures(scene, canvas, rect);
	if (events.height > 0)
		panel_events(scene, canvas, events);
	if (plot.height > 0)
		panel_plot(scene, canvas, plot);
	if (below.height > 0)
		panel_of_processes(scene, canvas, below);
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	scene->state->list = (struct rect){ 0, 0, 0, 0 };
	if (scene->model->perf.since_ns == 0)
		draw_nothing(scene, canvas, rect);
	else if (rect.width >= 100 && rect.height >= 14)
		draw_wide(scene, canvas, rect);
	else
		draw_narrow(scene, canvas, rect);
}

static bool key(struct scene *scene, struct key_event event, struct rect rect)
{
	struct view_state *state = scene->state;
	int indices[PERF_EVENTS_MAX], count = used_events(&scene->model->perf, indices), row = state->row;
	(void)rect;
	if (trace_zoom_key(scene, event))
		return true;
	if (count == 0 || !parts_list_key(state, event, count, state->list))
		return false;
	if (state->row != row)
		memset(state->scales, 0, sizeof state->scales);
	return true;
}

static void write_row(const struct scene *scene, const struct perf_event_now *event, int32_t pid, double per_s,
	double total, double counted, struct buffer *out)
{
	if (pid > 0)
		parts_csv_integer(out, true, pid);
	parts_csv_text(out, false, event->name);
	parts_csv_text(out, false, counter_words(event));
	parts_csv_number(out, false, per_s);
	parts_csv_number(out, false, per_s / counter_batches(scene));
	parts_csv_number(out, false, total);
	parts_csv_number(out, false, counted);
	buffer_puts(out, "\n");
}

/* The tree first (pid empty), then each process. */
static void write(const struct scene *scene, struct buffer *out)
{
	const struct perf *perf = &scene->model->perf;
	int indices[PERF_EVENTS_MAX], count = used_events(perf, indices);
	if (perf->since_ns == 0)
		return;
	buffer_puts(out, "pid,event,role,per_s,per_batch,total,counted_ratio\n");
	for (int i = 0; i < count; i++) {
		const struct perf_event_now *event = &perf->events[indices[i]];

		write_row(scene, event, 0, event->per_s, event->total, event->counted_ratio, out);
	}
	for (size_t process = 0; process < perf->process_count; process++)
		for (int i = 0; i < count; i++)
			write_row(scene, &perf->events[indices[i]], perf->processes[process].pid,
				perf->processes[process].per_s[indices[i]], perf->processes[process].total[indices[i]], NAN, out);
}

const struct view counters_view = {
	.needs = NEEDS_COUNTERS,
	.name = "Counters",
	.short_name = "Ctr",
	.digit = '9',
	.keys = "q quit  Tab view  ↑↓ event  +/- zoom  [] next run  Space pause  w save CSV  ? help",
	.keys_short = "q quit  Tab view  ↑↓ event  +/- zoom  w save CSV  ? help",
	.draw = draw,
	.key = key,
	.write = write,
};
