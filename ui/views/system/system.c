/* System: the machine: CPUs, waiting, capacity, disks and network, and the run's own processes. */
#include <stdio.h>
#include <string.h>

#include "src/model/machine/processes.h"
#include "ui/core/layout.h"
#include "ui/views/overview/panel_lists.h"
#include "ui/views/overview/panel_workers.h"
#include "ui/views/overview/panels.h"
#include "ui/views/system/system_energy.h"
#include "ui/views/system/system_line.h"
#include "ui/views/system/system_panels.h"
#include "ui/views/system/system_processes.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/over_time.h"
#include "ui/widgets/plots/trace.h"

static int clamp(int value, int min, int max) { return value < min ? min : value > max ? max : value; }

/* -- the run's processes -- */

static void processes_title(const struct scene *scene, struct line *line)
{
	unsigned living = 0;
	for (size_t i = 0; i < scene->model->process_count; i++)
		living += !scene->model->processes[i].is_gone;
	line_start(line, " · ");
	line_add(line, 0, ROLE_NORMAL, "%u", living);
	line_add(line, 1, ROLE_KEY, "<> sort  I reverse");
}

static void draw_processes(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct line line;
	processes_title(scene, &line);
	struct rect inside = parts_panel(canvas, rect, "Processes of the run", &line, ROLE_TITLE);

	if (inside.height >= 5 && workers_are_instrumented(scene)) {
		struct rect row = rect_take_top(&inside, 1);

		rect_take_left(&row, 1);
		panel_workers_line(scene, canvas, row);
	}
	system_process_table(scene, canvas, inside);
}

/* -- the machine -- */

static const char nothing_read[] =
	"pmtop has read nothing about the machine yet; [8] Warnings lists what is missing, and why.";

/* Splits the rectangle; without boxes one column separates the halves. */
static struct rect take_half(const struct canvas *canvas, struct rect *rest, int width)
{
	struct rect half = rect_take_left(rest, width);
	if (!parts_is_roomy(canvas))
		rect_take_right(&half, 1);
	return half;
}

/* Plot rows: a multiple of the number of rows in the Waiting panel. */
static int plot_rows(int height) { return height < 30 ? 5 : height < 66 ? 10 : 15; }

/* Two columns of panels. Returns the rectangle below. */
static struct rect draw_two_columns(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	int frame = parts_panel_rows(canvas), wanted = panel_devices_rows(scene->model);
	struct rect top = rect_take_top(&rect, frame + plot_rows(rect.height));
	struct rect middle = rect_take_top(&rect, frame + clamp(wanted, CAPACITY_ROWS, rect.height / 3));
	struct rect left = take_half(canvas, &top, top.width / 2);
	panel_machine_cpu(scene, canvas, left);
	panel_waiting(scene, canvas, top);
	left = take_half(canvas, &middle, middle.width / 2);
	panel_capacity(scene, canvas, left);
	panel_devices(scene, canvas, middle);
	return rect;
}

static struct rect draw_three_columns(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct rect top = rect_take_top(&rect, 2 + plot_rows(rect.height));
	struct rect middle =
		rect_take_top(&rect, 2 + clamp(panel_devices_rows(scene->model), CAPACITY_ROWS + 2, rect.height / 3));
	panel_machine_cpu(scene, canvas, rect_take_left(&top, top.width / 3));
	panel_machine_memory(scene, canvas, rect_take_left(&top, top.width / 2));
	panel_waiting(scene, canvas, top);
	panel_capacity(scene, canvas, rect_take_left(&middle, middle.width / 2));
	panel_devices(scene, canvas, middle);
	return rect;
}

static struct rect draw_columns(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	bool is_wide = canvas->width >= 160 && parts_is_roomy(canvas);
	rect = is_wide ? draw_three_columns(scene, canvas, rect) : draw_two_columns(scene, canvas, rect);
	system_energy(scene, canvas, &rect);
	return rect;
}

static struct rect draw_lines(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct rect lines = rect;
	int rows = clamp(rect.height - 3, 1, SYSTEM_LINES);
	rect_take_left(&lines, 1);
	lines.height = rows < rect.height ? rows : rect.height;
	rect_take_top(&rect, system_lines(scene, canvas, lines));
	return rect;
}

static struct rect draw_unknown(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct missing *missing = system_missing(scene->model, "of the machine");
	char text[sizeof missing->text + sizeof missing->remedy + sizeof nothing_read + 8];
	struct rect measure = { 0, 0, rect.width - 4, 0 };
	snprintf(text, sizeof text, "%s", nothing_read);
	if (missing)
		snprintf(text, sizeof text, "Not read: %s.\nTry: %s.", missing->text, missing->remedy);
	struct rect note = rect_take_top(&rect, parts_panel_rows(canvas) + parts_wrap(canvas, measure, ROLE_NORMAL, text));
	struct rect inside = parts_panel(canvas, note, "Machine", NULL, ROLE_TITLE);

	rect_take_left(&inside, 1);
	parts_wrap(canvas, inside, ROLE_NORMAL, text);
	return rect;
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	bool is_known = system_is_known(scene->model);
	scene->state->list = (struct rect){ 0, 0, 0, 0 };
	if (!is_known && model_target(scene->model) == NULL) {
		parts_note(canvas, rect, "System", nothing_read);
		return;
	}
	if (!is_known)
		rect = draw_unknown(scene, canvas, rect);
	else if (rect.width < 76 || rect.height < 19)
		rect = draw_lines(scene, canvas, rect);
	else
		rect = draw_columns(scene, canvas, rect);
	if (rect.height > 0)
		draw_processes(scene, canvas, rect);
}

/* -- keys -- */

static bool matches(const void *rows, int row, const char *search)
{
	const struct process *process = ((const struct process *const *)rows)[row];
	return parts_matches(process->command, search) || parts_matches(process->wait, search);
}

static bool key(struct scene *scene, struct key_event event, struct rect rect)
{
	struct view_state *state = scene->state;
	const struct process *rows[PROCESS_ROWS_MAX];
	(void)rect;
	if (trace_zoom_key(scene, event))
		return true;
	if (state->search[0] != '\0' && (event.key == 'n' || event.key == 'N')) {
		parts_list_find(scene, event, (int)system_processes(scene, rows), "process", matches, rows);
		return true;
	}
	return system_process_key(scene, event) ||
		parts_list_key(state, event, (int)process_rows(scene, rows), state->list);
}

static void write(const struct scene *scene, struct buffer *out)
{
#define SERIES_TITLE(name) "," #name
	static const char titles[] =
		"time_ns,time" SYSTEM_SERIES(SERIES_TITLE) ",cpu_power_w,gpu_power_w,cpu_temperature_c,cpu_clock_hz\n";
	const struct energy *energy = &scene->model->energy;
#undef SERIES_TITLE
#define SERIES_POINTER(name) scene->model->system.series.name,
	const struct series *const series[] = { SYSTEM_SERIES(SERIES_POINTER) energy->cpu_watts_series,
		energy->gpu_watts_series, energy->temperature_series, energy->cpu_clock_series };
#undef SERIES_POINTER
	buffer_puts(out, titles);
	over_time_write(scene, series, sizeof series / sizeof series[0], OVER_TIME_ROWS_MAX, "", out);
}

const struct view system_view = {
	.name = "System",
	.short_name = "Sys",
	.digit = '6',
	.keys = "q quit  Tab view  ↑↓ process  <> sort  I reverse  +/- zoom  / search  n/N next match  Space pause  w save "
			"CSV  ? help",
	.keys_short = "q quit  Tab view  ↑↓ process  <> sort  +/- zoom  / search  ? help",
	.can_search = true,
	.draw = draw,
	.key = key,
	.write = write,
};
