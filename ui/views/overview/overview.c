/* The overview: progress, step times, where a step goes, memory, warnings; without instrumentation, the process and
 * how to instrument it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/model/code/code_advice.h"
#include "ui/core/layout.h"
#include "ui/views/overview/overview_panels.h"
#include "ui/views/overview/panel_gpu.h"
#include "ui/views/overview/panel_lists.h"
#include "ui/views/overview/panels.h"
#include "ui/views/system/system_line.h"
#include "ui/views/system/system_panels.h"
#include "ui/widgets/batch_focus.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/trace.h"
#include "ui/widgets/progress.h"

static int clamp(int value, int min, int max) { return value < min ? min : value > max ? max : value; }

/* -- with a run -- */

static void draw_run(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	bool is_roomy = parts_is_roomy(canvas);
	struct rect progress = rect_take_top(&rect, 2);
	rect_take_left(&progress, 1);
	progress_draw(scene, run, canvas, progress);
	if (is_roomy)
		rect_take_top(&rect, 1);
	struct rect ranks = rect_take_top(&rect, panel_ranks_height(scene, canvas, rect.height));

	if (ranks.height > 0)
		panel_ranks(scene, canvas, ranks);
	struct rect stall = rect_take_top(&rect, panel_stall_height(scene, run, canvas, rect.height));

	if (stall.height > 0)
		panel_stall(scene, run, canvas, stall);
	struct rect requests = rect_take_top(&rect, panel_requests_height(scene, canvas, rect.height));

	if (requests.height > 0)
		panel_requests(scene, canvas, requests);
	if (canvas->width >= 160 && is_roomy)
		overview_wide(scene, run, canvas, rect);
	else
		overview_narrow(scene, run, canvas, rect);
}

/* -- without one -- */

static void draw_process(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	bool is_refused = code_refused_region(scene->model);
	char text[576], why[512];
	code_write_no_steps(scene->model, '\n', why, sizeof why);
	snprintf(text, sizeof text, "%s%s", why, is_refused ? "\nProcess figures are below." : "");
	const struct process *shown[PROCESS_ROWS_MAX];
	int frame = parts_panel_rows(canvas), rows = (int)process_rows(scene, shown);
	struct rect measure = { 0, 0, rect.width - 4, 0 };
	int words = parts_wrap(canvas, measure, ROLE_NORMAL, text);
	struct rect ranks = rect_take_top(&rect, panel_ranks_height(scene, canvas, rect.height));
	struct rect note = rect_take_top(&rect, rect.height < 12 ? 0 : frame + words);
	struct rect line = rect_take_top(&rect, 1),
				machine = rect_take_top(&rect, system_is_known(scene->model) && rect.height >= 9 ? 1 : 0);
	struct rect table = rect_take_bottom(&rect, rect.height < 9 ? 0 : frame + 1 + clamp(rows, 1, rect.height / 3));
	struct rect gpu = rect_take_bottom(&rect, panel_gpu_height(scene, canvas, canvas->height));
	struct rect code = rect_take_top(&rect, panel_code_height(scene, canvas, rect.height)), plots = rect;

	if (ranks.height > 0)
		panel_ranks(scene, canvas, ranks);
	if (note.height > 0 && pane_is_due(&scene->panes, PANE_EPOCHS, note)) {
		struct rect inside = parts_panel(canvas, note, is_refused ? "Not readable" : "No steps yet", NULL, ROLE_TITLE);
		rect_take_left(&inside, 1);
		parts_wrap(canvas, inside, ROLE_NORMAL, text);
	}
	rect_take_left(&line, 1);
	panel_process_line(scene, canvas, line);
	if (machine.height > 0) {
		rect_take_left(
			&machine, 1 + canvas_text(canvas, machine.x + 1, machine.y, machine.width - 1, ROLE_DIM, "machine:"));
		overview_machine(scene, canvas, machine);
	}
	if (code.height > 0 && pane_is_due(&scene->panes, PANE_CODE, code))
		panel_code(scene, canvas, code);
	struct rect left = rect_take_left(&plots, plots.width >= 70 ? plots.width / 2 : 0);

	if (!parts_is_roomy(canvas))
		rect_take_right(&left, 1);
	if (left.width > 0 && left.height > 1 && pane_is_due(&scene->panes, PANE_WHERE, left))
		panel_cpu(scene, canvas, left, scene->state->zoom);
	if (plots.height > 1 && pane_is_due(&scene->panes, PANE_MEMORY, plots))
		panel_memory(scene, canvas, plots, scene->state->zoom);
	if (gpu.height > 0 && pane_is_due(&scene->panes, PANE_GPU, gpu))
		panel_gpu(scene, canvas, gpu);
	if (table.height > 0 && pane_is_due(&scene->panes, PANE_PROCESSES, table))
		process_table(scene, canvas, parts_panel(canvas, table, "Processes", NULL, ROLE_TITLE), NULL);
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct run *run = scene_run(scene);
	scene->state->plot = (struct rect){ 0, 0, 0, 0 };
	if (run)
		draw_run(scene, run, canvas, rect);
	else if (!scene->model->has_target)
		parts_note(canvas, rect, "Waiting", "pmtop has read nothing yet. pmtop list shows the processes it can watch.");
	else
		draw_process(scene, canvas, rect);
}

/* -- keys -- */

static bool click(struct scene *scene, const struct run *run, struct key_event event)
{
	const struct view_state *state = scene->state;
	struct stretch stretch;
	uint64_t ordinal;
	if (!rect_has(state->plot, event.x, event.y))
		return false;
	trace_stretch(scene, run, &stretch);
	size_t column = (size_t)(event.x - state->plot.x) * state->plot_columns / (size_t)state->plot.width;

	if (trace_batch_at(run, &stretch, column, state->plot_columns, &ordinal))
		batch_focus(scene, ordinal);
	return true;
}

static bool key(struct scene *scene, struct key_event event, struct rect rect)
{
	const struct run *run = scene_run(scene);
	int step = event.key == '+' || event.key == '=' ? 1 : event.key == '-' ? -1 : 0;
	(void)rect;
	if (step != 0) {
		bool can = (run && trace_can_zoom(scene, run, step)) || trace_can_zoom_time(scene, scene->state->zoom, step);

		scene->state->zoom += can ? step : 0;
		return true;
	}
	if (!run)
		return false;
	/* The overview selects batches of the main track only. */
	if (scene->focus.has_mode && event.key != KEY_RETURN)
		scene->focus = (struct focus){ .at_live_end = true };
	if (event.key == KEY_RETURN) {
		scene->focus.is_open = true;
		scene->go_to = "Batches";
		return true;
	}
	if (event.key == KEY_CLICK)
		return click(scene, run, event);
	return batch_key(scene, run, event);
}

static void write(const struct scene *scene, struct buffer *out)
{
	const struct run *run = scene_run(scene);
	struct stretch stretch;
	if (!run)
		return;
	trace_stretch(scene, run, &stretch);
	if (stretch.is_binned)
		batch_range(run_main(run), &stretch.first, &stretch.end);
	batch_write(scene, stretch.first, stretch.end, out);
}

const struct view overview_view = {
	.name = "Overview",
	.short_name = "Over",
	.digit = '1',
	.keys = "q quit  Tab view  n/N next flagged  Enter why  f flag/unflag  Space pause  +/- zoom  / search  w save CSV "
			" ? help",
	.keys_short = "q quit  Tab view  n/N next flagged  Enter why  Space pause  +/- zoom  ? help",
	.can_search = true,
	.draw = draw,
	.key = key,
	.write = write,
};
