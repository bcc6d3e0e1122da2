/* The Python lines that take the most time, for the overview of a run without instrumentation. */
#include "src/model/code/code.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/model/code/code_phases.h"
#include "src/model/code/step_phases.h"
#include "ui/core/layout.h"
#include "ui/views/code/code_lines.h"
#include "ui/views/code/code_parts.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"

enum { ROWS_DEFAULT = 5, ROWS_MIN = 2 };

/* A third of the rows is for lines. */
int panel_code_height(const struct scene *scene, const struct canvas *canvas, int height)
{
	struct code_sampled sample;
	struct code_rows rows;
	int frame = parts_panel_rows(canvas), room = height / 3 - frame - 1;
	if (!code_sampled_init(scene, -1, false, &sample) || sample.seconds <= 0)
		return 0;
	code_rows_collect(&sample, CODE_CELL_SHARE, false, &rows);
	int wanted = (int)rows.count < ROWS_DEFAULT ? (int)rows.count : ROWS_DEFAULT;

	return room < ROWS_MIN || wanted == 0 ? 0 : frame + 1 + (wanted < room ? wanted : room);
}

void panel_code(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct table_column fitted[CODE_CELLS];
	struct code_sampled sample;
	struct code_rows rows;
	struct table table;
	struct line title;
	if (!code_sampled_init(scene, -1, false, &sample))
		return;
	code_rows_collect(&sample, CODE_CELL_SHARE, false, &rows);
	code_title(scene, &sample, &title);
	line_add(&title, 1, ROLE_KEY, "[7] details");
	struct rect inside = parts_panel(canvas, rect, "Your lines", &title, ROLE_TITLE),
				phases = rect_take_top(&inside, 1);

	code_phases_row(&sample, canvas, phases);
	code_rows_fit(&sample, &rows, inside, &table, fitted);
	for (int i = 0; i < inside.height && i < (int)rows.count; i++)
		code_line_draw(&sample, &sample.code->lines[rows.indices[i]], &table, canvas, rect_row(inside, i).y, "");
}

/* -- where a step goes -- */

enum { NAME_CELLS = 13, SHARE_CELLS = 6, ERROR_CELLS = 8, SECONDS_CELLS = 10 };
/* Of the standard error: 95 %. */
#define ERRORS_SHOWN 2

/* A phase's share, its standard error (NAN: not shown) and its mean time in a step. */
struct row_shown {
	enum code_phase phase;
	double share_ratio, error_ratio;
};

static void draw_phase(const struct row_shown *shown, double step_s, struct canvas *canvas, struct rect row)
{
	int error = isnan(shown->error_ratio) ? 0 : ERROR_CELLS,
		bar = row.width - NAME_CELLS - 1 - SHARE_CELLS - error - SECONDS_CELLS - 2, x = row.x + NAME_CELLS + 1;
	char text[NUMBER_SIZE], words[NUMBER_SIZE + 4];
	canvas_text(canvas, row.x, row.y, NAME_CELLS, ROLE_NORMAL, code_phase_name(shown->phase));
	if (bar >= 3) {
		canvas_bar(canvas, x, row.y, bar, shown->share_ratio, code_phase_role(shown->phase));
		x += bar;
	}
	canvas_text_right(canvas, x, row.y, SHARE_CELLS, ROLE_STRONG, format_percent(text, shown->share_ratio));
	if (error > 0) {
		snprintf(words, sizeof words, "± %s", format_percent(text, ERRORS_SHOWN * shown->error_ratio));
		canvas_text_right(canvas, x + SHARE_CELLS, row.y, error, ROLE_DIM, words);
	}
	canvas_text_right(canvas, x + SHARE_CELLS + error, row.y, SECONDS_CELLS, ROLE_NORMAL,
		parts_time(text, shown->share_ratio * step_s, step_s / 4));
}

static void draw_sorted(struct row_shown *rows, size_t count, double step_s, struct canvas *canvas, struct rect inside)
{
	for (int i = 0; i < inside.height && i < (int)count; i++) {
		size_t max = (size_t)i;

		for (size_t k = max + 1; k < count; k++)
			max = rows[k].share_ratio > rows[max].share_ratio ? k : max;
		struct row_shown chosen = rows[max];

		rows[max] = rows[i];
		rows[i] = chosen;
		draw_phase(&chosen, step_s, canvas, rect_row(inside, i));
	}
}

enum { WHAT_CELLS_MIN = 8 };

/* What counts the steps: "steps: for i in range(n), train.py:12", "steps (chosen by a person): …". */
static void draw_inferred(const struct run *run, struct canvas *canvas, struct rect row)
{
	const struct inferred inferred = run_inferred(run);
	const char *slash = inferred.file ? strrchr(inferred.file, '/') : NULL;
	const char *head = inferred.is_chosen ? "steps (chosen by a person): " : "steps: ";
	char text[512], what[256], place[224] = "";
	if (!inferred.what)
		return;
	if (inferred.line)
		snprintf(place, sizeof place, ", %.200s:%u", slash ? slash + 1 : inferred.file, inferred.line);
	int room = row.width - (int)text_cells(head) - (int)text_cells(place);
	text_shorten(what, sizeof what, inferred.what, (size_t)(room > WHAT_CELLS_MIN ? room : WHAT_CELLS_MIN));
	snprintf(text, sizeof text, "%s%s%s", head, what, place);
	canvas_text(canvas, row.x, row.y, row.width, ROLE_DIM, text);
}

/* The lines with the most time, in the rows that the phases leave: a program of no known framework has no phases. */
static void draw_lines(const struct scene *scene, size_t phases, struct canvas *canvas, struct rect inside)
{
	struct code_sampled sample;
	struct code_rows rows;
	rect_take_top(&inside, (int)phases + 1);
	if (inside.height < ROWS_MIN || !code_sampled_init(scene, -1, false, &sample) || sample.seconds <= 0)
		return;
	code_rows_collect(&sample, CODE_CELL_SHARE, false, &rows);
	canvas_text(canvas, inside.x, inside.y, inside.width, ROLE_DIM, "your lines in the last minute:");
	rect_take_top(&inside, 1);
	for (int i = 0; i < inside.height && i < (int)rows.count; i++)
		code_line_draw_short(&sample, &sample.code->lines[rows.indices[i]], canvas, rect_row(inside, i));
}

/* Of the steps that the samples fall into. */
static bool draw_steps(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	struct row_shown rows[CODE_PHASE_COUNT];
	struct sampled_phases sampled;
	struct line title;
	char text[NUMBER_SIZE];
	size_t count = 0;
	model_recent_phases(scene->model, run, &sampled);
	if (!sampled.is_retained || sampled.samples < STEP_SAMPLES_MIN)
		return false;
	line_start(&title, " · ");
	line_add(&title, 0, ROLE_NORMAL, "mean of %s steps", parts_thousands(text, (double)sampled.steps));
	line_add(&title, 1, ROLE_NORMAL, "%s samples", parts_thousands(text, sampled.samples));
	line_add(&title, 2, ROLE_NORMAL, "host clock");
	struct rect inside = parts_panel(canvas, rect, "Where a step goes", &title, ROLE_TITLE);

	rect_take_left(&inside, 1);
	if (inside.height > 3)
		draw_inferred(run, canvas, rect_take_bottom(&inside, 1));
	for (int phase = 0; phase < CODE_PHASE_COUNT; phase++)
		if (sampled.phases[phase].samples > 0)
			rows[count++] = (struct row_shown){ (enum code_phase)phase, sampled.phases[phase].share_ratio,
				sampled.phases[phase].error_ratio };
	draw_sorted(rows, count, sampled.step_s, canvas, inside);
	draw_lines(scene, count, canvas, inside);
	return true;
}

void panel_where_sampled(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	struct row_shown rows[CODE_PHASE_COUNT];
	struct code_sampled sample;
	struct line title;
	char text[NUMBER_SIZE];
	size_t count = 0;
	if (draw_steps(scene, run, canvas, rect))
		return;
	bool is_seen = code_sampled_init(scene, -1, false, &sample) && sample.seconds > 0;

	line_start(&title, " · ");
	if (is_seen) {
		line_add(&title, 0, ROLE_NORMAL, "%s samples", parts_thousands(text, sample.group->recent_samples));
		line_add(&title, 1, ROLE_NORMAL, "± %s",
			format_percent(text, ERRORS_SHOWN * code_error_ratio(0.5, sample.group->recent_samples)));
		line_add(&title, 2, ROLE_NORMAL, "host clock");
	}
	struct rect inside = parts_panel(canvas, rect, "Where the time goes", &title, ROLE_TITLE);

	rect_take_left(&inside, 1);
	if (!is_seen) {
		canvas_text(canvas, inside.x, inside.y, inside.width, ROLE_DIM, "no stack samples in the last minute");
		return;
	}
	if (inside.height > 3)
		draw_inferred(run, canvas, rect_take_bottom(&inside, 1));
	for (int phase = 0; phase < CODE_PHASE_COUNT; phase++)
		if (code_seconds(&sample, &sample.group->phases[phase]) > 0)
			rows[count++] =
				(struct row_shown){ (enum code_phase)phase, code_share(&sample, &sample.group->phases[phase]), NAN };
	draw_sorted(rows, count, run_main(run)->recent.mean_s, canvas, inside);
	draw_lines(scene, count, canvas, inside);
}
