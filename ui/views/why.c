#include "ui/views/why.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/rules/explain.h"
#include "ui/layout.h"
#include "ui/views/batch_focus.h"
#include "ui/views/panels.h"
#include "ui/views/parts.h"

/* Widths of the three columns of figures; the name takes what is left of `name`, the bar the rest. */
enum { FIGURE_WIDTH = 10, NAME_MOST = 34 };

/* -- phases -------------------------------------------------------------------------------------------------------------------- */

static void draw_heading(struct canvas *canvas, struct rect row, int name, const char *what, const char *unit, const char *third)
{
	char text[NUMBER_SIZE];

	canvas_text(canvas, row.x, row.y, name, ROLE_HEADER, what);
	snprintf(text, sizeof text, unit[0] != '\0' ? "this %s" : "this%s", unit);
	canvas_text_right(canvas, row.x + name, row.y, FIGURE_WIDTH, ROLE_HEADER, text);
	canvas_text_right(canvas, row.x + name + FIGURE_WIDTH, row.y, FIGURE_WIDTH, ROLE_HEADER, "usual");
	canvas_text_right(canvas, row.x + name + 2 * FIGURE_WIDTH, row.y, FIGURE_WIDTH, ROLE_HEADER, third);
}

static void draw_phase(const struct run *run, const struct explanation *why, const struct explain_row *phase, struct canvas *canvas, struct rect row,
                       int name, enum role role)
{
	int indent = 2 * (int)phase->depth, x = row.x + name, bar = row.width - name - 3 * FIGURE_WIDTH - 8;
	double like = why->usual_s, share = why->excess_s > 0 ? phase->excess_s / why->excess_s : NAN;
	bool is_much = share >= 0.2;
	char text[NUMBER_SIZE];

	canvas_text(canvas, row.x + indent, row.y, name - indent, phase->depth == 0 ? ROLE_NORMAL : ROLE_DIM, run_name(run, phase->name));
	canvas_text_right(canvas, x, row.y, FIGURE_WIDTH, ROLE_NORMAL, parts_time_bare(text, phase->this_s, like, false));
	canvas_text_right(canvas, x + FIGURE_WIDTH, row.y, FIGURE_WIDTH, ROLE_DIM, parts_time_bare(text, phase->usual_s, like, false));
	canvas_text_right(canvas, x + 2 * FIGURE_WIDTH, row.y, FIGURE_WIDTH, is_much ? ROLE_FLAG : ROLE_NORMAL,
	                  parts_time_bare(text, phase->excess_s, like, true));
	if (bar < 4 || !(share > 0.005))
		return;
	canvas_bar(canvas, x + 3 * FIGURE_WIDTH + 2, row.y, bar, share > 1 ? 1 : share, role);
	canvas_text_right(canvas, x + 3 * FIGURE_WIDTH + 2 + bar, row.y, 6, is_much ? ROLE_STRONG : ROLE_DIM, format_percent(text, share));
}

static int name_width(const struct run *run, const struct explanation *why, int width)
{
	int name = 12;

	for (size_t i = 0; i < why->row_count; i++) {
		int cells = (int)text_cells(run_name(run, why->rows[i].name)) + 2 * (int)why->rows[i].depth;

		name = cells > name ? cells : name;
	}
	for (size_t i = 0; i < why->context_count; i++) {
		int cells = (int)text_cells(why->context[i].what);

		name = cells > name ? cells : name;
	}
	if (name > NAME_MOST)
		name = NAME_MOST;
	return name > width - 3 * FIGURE_WIDTH ? width - 3 * FIGURE_WIDTH : name;
}

static int draw_phases(const struct run *run, const struct explanation *why, struct canvas *canvas, struct rect rect, int name)
{
	enum role role = ROLE_PHASE_0;

	draw_heading(canvas, rect_row(rect, 0), name, "phase", parts_time_unit(why->usual_s), "excess");
	for (size_t i = 0; i < why->row_count; i++) {
		struct rect row = rect_row(rect, 1 + (int)i);

		if (why->rows[i].depth == 0)
			role = phase_role(run, why->rows[i].name);
		if (row.height > 0)
			draw_phase(run, why, &why->rows[i], canvas, row, name, role);
	}
	return 1 + (int)why->row_count;
}

/* -- what else happened -------------------------------------------------------------------------------------------------------- */

static const char *context_value(char out[NUMBER_SIZE], enum explain_unit unit, double value)
{
	switch (unit) {
	case EXPLAIN_SECONDS: return format_seconds(out, value);
	case EXPLAIN_BYTES: return format_bytes(out, value);
	default: return parts_thousands(out, value);
	}
}

static void draw_pair(struct canvas *canvas, struct rect row, int name, const char *what, const char *now, const char *usual, bool is_unusual)
{
	if (row.height == 0)
		return;
	canvas_text(canvas, row.x, row.y, name, is_unusual ? ROLE_FLAG : ROLE_NORMAL, what);
	canvas_text_right(canvas, row.x + name, row.y, FIGURE_WIDTH, is_unusual ? ROLE_FLAG : ROLE_NORMAL, now);
	canvas_text_right(canvas, row.x + name + FIGURE_WIDTH, row.y, FIGURE_WIDTH, ROLE_DIM, usual);
	if (is_unusual)
		canvas_text(canvas, row.x + name + 2 * FIGURE_WIDTH + 2, row.y, 2, ROLE_FLAG, "▲");
}

/* Twice what is usual, and not of a size that means nothing. */
static bool is_unusual(double now, double usual, double least)
{
	return now >= least && (isnan(usual) || now >= 2 * usual);
}

static int draw_evidence(const struct explanation *why, struct canvas *canvas, struct rect rect, int name)
{
	int used = 0;

	for (size_t i = 0; i < why->context_count; i++) {
		const struct explain_context *context = &why->context[i];
		double least = context->unit == EXPLAIN_SECONDS ? why->step_s / 20 : context->unit == EXPLAIN_BYTES ? 1e6 : 10;
		char now[NUMBER_SIZE], usual[NUMBER_SIZE];

		draw_pair(canvas, rect_row(rect, used++), name, context->what, context_value(now, context->unit, context->this_value),
		          context_value(usual, context->unit, context->usual_value), is_unusual(context->this_value, context->usual_value, least));
	}
	return used;
}

static const char *ratio_text(char out[NUMBER_SIZE], double value) { return format_percent(out, value); }
static const char *rate_text(char out[NUMBER_SIZE], double value) { return format_rate(out, value); }
static const char *bytes_text(char out[NUMBER_SIZE], double value) { return format_bytes(out, value); }

/* What the process source saw of the whole process: means over the window, against the time that the usual batches took. */
static int draw_process(const struct scene *scene, const struct batch *batch, int64_t usual_from_ns, struct canvas *canvas, struct rect rect, int name)
{
	const struct model *model = scene->model;
	const struct { const char *what; const struct series *series; const char *(*format)(char[NUMBER_SIZE], double); double least; } rows[] = {
		{ "process: CPU", model->series.cpu_ratio, ratio_text, 0.2 },
		{ "process: waits for CPU", model->series.run_queue_wait_ratio, ratio_text, 0.05 },
		{ "process: read, bytes/s", model->series.read_bytes_per_s, bytes_text, 1e6 },
		{ "process: written, bytes/s", model->series.write_bytes_per_s, bytes_text, 1e6 },
		{ "process: major faults/s", model->series.major_faults_per_s, rate_text, 10 },
		{ "process: resident", model->series.resident, bytes_text, INFINITY },
	};
	int64_t to_ns = batch->begin_ns + (int64_t)(batch->step_s * 1e9);
	int used = 0;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		double now = NAN, usual = NAN;
		char now_text[NUMBER_SIZE], usual_text[NUMBER_SIZE];

		series_mean(rows[i].series, batch->begin_ns, to_ns, &now);
		series_mean(rows[i].series, usual_from_ns, batch->begin_ns, &usual);
		draw_pair(canvas, rect_row(rect, used++), name, rows[i].what, rows[i].format(now_text, now), rows[i].format(usual_text, usual),
		          is_unusual(now, usual, rows[i].least));
	}
	return used;
}

/* -- the panel ----------------------------------------------------------------------------------------------------------------- */

static int draw_causes(const struct explanation *why, struct canvas *canvas, struct rect rect)
{
	char text[NUMBER_SIZE];
	struct line line;

	line_start(&line, " · ");
	for (size_t i = 0; i < why->cause_count; i++)
		line_add(&line, (int)i, i == 0 ? ROLE_STRONG : ROLE_NORMAL, "%s %s", why->causes[i].what, format_percent(text, why->causes[i].share_ratio));
	if (why->usual_batches == 0)
		line_add(&line, 0, ROLE_DIM, "nothing to compare with yet: too few batches before it");
	else if (why->cause_count == 0)
		line_add(&line, 0, ROLE_GOOD, "nothing out of line");
	canvas_text(canvas, rect.x, rect.y, rect.width, ROLE_ACCENT, "→");
	rect_take_left(&rect, 2);
	line_draw(&line, canvas, rect.x, rect.y, rect.width);
	return 1;
}

static int64_t usual_begin(const struct run *run, const struct batch *batch, size_t batches)
{
	uint64_t first = batch->ordinal > batches ? batch->ordinal - batches : 0;
	const struct track *track = run_main(run);
	const struct batch *from = track_batch(track, first > track->first ? first : track->first);

	return from != NULL ? from->begin_ns : batch->begin_ns;
}

static void why_title(const struct batch *batch, const struct explanation *why, char *title, size_t size, struct line *right)
{
	char name[NUMBER_SIZE], step[NUMBER_SIZE], usual[NUMBER_SIZE], excess[NUMBER_SIZE], ratio[NUMBER_SIZE] = "";

	snprintf(title, size, batch->is_flagged ? "Why %s was slow" : "Batch %s", parts_batch_name(name, batch));
	if (!isnan(why->ratio))
		snprintf(ratio, sizeof ratio, "%.1f×", why->ratio);
	line_start(right, " · ");
	line_add(right, 0, ROLE_NORMAL, "%s = median %s %s", parts_time(step, why->step_s, why->usual_s),
	         parts_time_bare(usual, why->usual_s, why->usual_s, false), parts_time_bare(excess, why->excess_s, why->usual_s, true));
	if (ratio[0] != '\0')
		line_add(right, 1, ROLE_NORMAL, "%s", ratio);
	if (batch->is_by_hand)
		line_add(right, 2, ROLE_NORMAL, "by hand");
	if (batch->is_warmup)
		line_add(right, 1, ROLE_NORMAL, "warm-up");
	if (!isnan(batch->loss))
		line_add(right, 3, ROLE_NORMAL, "loss %s", parts_loss(name, batch->loss));
}

void panel_why(const struct scene *scene, const struct run *run, uint64_t ordinal, struct canvas *canvas, struct rect rect)
{
	struct usual usual;
	const struct batch *batch = batch_find(run, ordinal, &usual);
	struct explanation why;
	struct line right;
	char title[NUMBER_SIZE + 16], text[NUMBER_SIZE];

	if (batch == NULL) {
		canvas_text(canvas, rect.x, rect.y, rect.width, ROLE_DIM, "this batch is no longer kept");
		return;
	}
	explain_batch(run, batch, &usual, &why);
	why_title(batch, &why, title, sizeof title, &right);
	struct rect inside = parts_panel(canvas, rect, title, &right, batch->is_flagged ? ROLE_FLAG : ROLE_TITLE);

	rect_take_left(&inside, 1);
	int name = name_width(run, &why, inside.width), gap = inside.height >= (int)(why.row_count + why.context_count) + 13 ? 1 : 0;

	rect_take_top(&inside, draw_causes(&why, canvas, inside) + gap);
	rect_take_top(&inside, draw_phases(run, &why, canvas, inside, name) + gap);
	if (inside.height == 0)
		return;
	snprintf(title, sizeof title, "in these %.20s", parts_time(text, why.step_s, why.usual_s));
	draw_heading(canvas, rect_row(inside, 0), name, title, "", "");
	rect_take_top(&inside, 1);
	rect_take_top(&inside, draw_evidence(&why, canvas, inside, name));
	draw_process(scene, batch, usual_begin(run, batch, why.usual_batches), canvas, inside, name);
}
