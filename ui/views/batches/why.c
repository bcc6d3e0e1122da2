#include "ui/views/batches/why.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/model/code/step_phases.h"
#include "src/model/run/figures/late_figures.h"
#include "src/model/run/steps/tracks.h"
#include "ui/core/layout.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/batch_focus.h"
#include "ui/widgets/parts.h"

/* Widths of the three columns of figures; the name takes the rest of `name`, the bar the rest of the row. */
enum { FIGURE_WIDTH = 10, SAMPLES_WIDTH = 9, NAME_CELLS_MAX = 34 };
/* The standard error of a sampled phase is shown twice: 95 %. */
#define ERRORS_SHOWN 2

/* -- phases -- */

static void draw_heading(
	struct canvas *canvas, struct rect row, int name, const char *what, const char *unit, const char *third)
{
	char text[NUMBER_SIZE];
	canvas_fill(canvas, row, ' ', ROLE_HEADER);
	canvas_text(canvas, row.x, row.y, name, ROLE_HEADER, what);
	snprintf(text, sizeof text, unit[0] != '\0' ? "this %s" : "this%s", unit);
	canvas_text_right(canvas, row.x + name, row.y, FIGURE_WIDTH, ROLE_HEADER, text);
	canvas_text_right(canvas, row.x + name + FIGURE_WIDTH, row.y, FIGURE_WIDTH, ROLE_HEADER, "median");
	canvas_text_right(canvas, row.x + name + 2 * FIGURE_WIDTH, row.y, FIGURE_WIDTH, ROLE_HEADER, third);
}

/* The magnitude of the table's times: one unit finer than the whole, because phases are shorter. */
static double unit_of(const struct explanation *why)
{
	return (isnan(why->baseline_s) ? why->step_s : why->baseline_s) / 4;
}

/* As a share of the baseline: below it, shares of the excess would be noise. */
static const double min_excess = 0.1;

/* The columns of a sampled phase, right of the others, if there is room: the error of its time, and its samples. */
static int sampled_width(const struct explanation *why, int name, int width)
{
	int columns = FIGURE_WIDTH + SAMPLES_WIDTH;
	return why->stack_samples >= STEP_SAMPLES_MIN && width >= name + 3 * FIGURE_WIDTH + columns ? columns : 0;
}

static void draw_samples(struct canvas *canvas, int x, int y, const struct explain_row *phase, double like)
{
	char text[NUMBER_SIZE], words[NUMBER_SIZE + 4];
	snprintf(words, sizeof words, "± %s", parts_time_bare(text, ERRORS_SHOWN * phase->this_error_s, like, false));
	canvas_text_right(canvas, x, y, FIGURE_WIDTH, ROLE_DIM, words);
	snprintf(words, sizeof words, "%u", phase->samples);
	canvas_text_right(canvas, x + FIGURE_WIDTH, y, SAMPLES_WIDTH, ROLE_DIM, words);
}

static void draw_phase(const struct run *run, const struct explanation *why, const struct explain_row *phase,
	struct canvas *canvas, struct rect row, int name, enum role role)
{
	int indent = 2 * (int)phase->depth, x = row.x + name, sampled = sampled_width(why, name, row.width),
		bar = row.width - name - 3 * FIGURE_WIDTH - sampled - 8;
	double like = unit_of(why),
		   share = why->excess_s >= why->baseline_s * min_excess ? phase->excess_s / why->excess_s : NAN;
	bool is_much = share >= 0.2;
	char text[NUMBER_SIZE];
	canvas_text(canvas, row.x + indent, row.y, name - indent, phase->depth == 0 ? ROLE_NORMAL : ROLE_DIM,
		run_name(run, phase->name));
	canvas_text_right(canvas, x, row.y, FIGURE_WIDTH, ROLE_NORMAL, parts_time_bare(text, phase->this_s, like, false));
	canvas_text_right(
		canvas, x + FIGURE_WIDTH, row.y, FIGURE_WIDTH, ROLE_DIM, parts_time_bare(text, phase->baseline_s, like, false));
	canvas_text_right(canvas, x + 2 * FIGURE_WIDTH, row.y, FIGURE_WIDTH, is_much ? ROLE_FLAG : ROLE_NORMAL,
		parts_time_bare(text, phase->excess_s, like, true));
	if (sampled > 0)
		draw_samples(canvas, x + 3 * FIGURE_WIDTH, row.y, phase, like);
	if (bar < 4 || !(share > 0.005))
		return;
	x += 3 * FIGURE_WIDTH + sampled + 2;
	canvas_bar(canvas, x, row.y, bar, share > 1 ? 1 : share, role);
	canvas_text_right(canvas, x + bar, row.y, 6, is_much ? ROLE_STRONG : ROLE_DIM, format_percent(text, share));
}

/* An inferred step without phases. */
static int draw_no_phases(const struct explanation *why, struct canvas *canvas, struct rect rect)
{
	char words[96];
	if (!why->is_sampled || !why->is_retained)
		snprintf(words, sizeof words, "phases –: pmtop retains no samples of this step");
	else
		snprintf(words, sizeof words, "phases unknown (shorter than the sampling interval): %u sample%s",
			why->stack_samples, why->stack_samples == 1 ? "" : "s");
	canvas_text(canvas, rect.x, rect.y, rect.width, ROLE_DIM, words);
	return 1;
}

static int name_width(const struct run *run, const struct explanation *why, int width)
{
	int name = 12;
	for (size_t i = 0; i < why->row_count; i++) {
		int cells = (int)text_cells(run_name(run, why->rows[i].name)) + 2 * (int)why->rows[i].depth;

		name = cells > name ? cells : name;
	}
	return name > width - 3 * FIGURE_WIDTH ? width - 3 * FIGURE_WIDTH : name;
}

/* As a share of the excess: if room is short, phases below it give way to the figures that explain. */
static const double min_shown = 0.05;
enum { HAPPENINGS_MIN = 6 };

static int draw_phases(const struct run *run, const struct explanation *why, struct canvas *canvas, struct rect rect)
{
	int name = name_width(run, why, rect.width), used = 1;
	bool is_tight = why->cause_count > 0 && rect.height < (int)why->row_count + HAPPENINGS_MIN;
	enum role role = ROLE_PHASE_0;
	if (run->is_counted && (why->row_count == 0 || !name_is_sampled(why->rows[0].name)))
		return draw_no_phases(why, canvas, rect);
	draw_heading(canvas, rect_row(rect, 0), name, "phase", parts_time_unit(unit_of(why)), "excess");
	if (sampled_width(why, name, rect.width) > 0) {
		canvas_text_right(canvas, rect.x + name + 3 * FIGURE_WIDTH, rect.y, FIGURE_WIDTH, ROLE_HEADER, "± of this");
		canvas_text_right(canvas, rect.x + name + 4 * FIGURE_WIDTH, rect.y, SAMPLES_WIDTH, ROLE_HEADER, "samples");
	}
	for (size_t i = 0; i < why->row_count; i++) {
		struct rect row = rect_row(rect, used);

		if (why->rows[i].depth == 0)
			role = phase_role(run, why->rows[i].name);
		if (row.height == 0 || (is_tight && !(why->rows[i].excess_s >= min_shown * why->excess_s)))
			continue;
		draw_phase(run, why, &why->rows[i], canvas, row, name, role);
		used++;
	}
	return used;
}

/* -- what else happened -- */

static const char *context_value(char out[NUMBER_SIZE], enum explain_unit unit, double value)
{
	switch (unit) {
	case EXPLAIN_SECONDS: return format_seconds(out, value);
	case EXPLAIN_BYTES: return format_bytes(out, value);
	case EXPLAIN_HERTZ: snprintf(out, NUMBER_SIZE, isnan(value) ? "–" : "%.0f MHz", value * 1e-6); return out;
	default: return parts_thousands(out, value);
	}
}

/* One figure of the batch's window, compared with its baseline. */
struct happening {
	const char *what;
	char now[NUMBER_SIZE], baseline[NUMBER_SIZE];
	double explains_ratio;
	bool is_unusual, is_known, is_fact;
};
enum { MARKS_MAX = 3, HAPPENINGS_MAX = EXPLAIN_CONTEXT_MAX + RUN_BATCH_FIGURES_MAX + MARKS_MAX + 9 };

/* At least twice the baseline, and above a minimum. */
static bool is_unusual(double now, double baseline, double min)
{
	return now >= min && (isnan(baseline) || now >= 2 * baseline);
}

/* A clock is unusual when it has dropped; an event, when it happened at all. */
static bool is_context_unusual(const struct explanation *why, const struct explain_context *context)
{
	switch (context->unit) {
	case EXPLAIN_SECONDS: return is_unusual(context->this_value, context->baseline_value, why->step_s / 20);
	case EXPLAIN_BYTES: return is_unusual(context->this_value, context->baseline_value, 1e6);
	case EXPLAIN_HERTZ: return context->this_value < context->baseline_value;
	case EXPLAIN_HAPPENING: return is_unusual(context->this_value, context->baseline_value, 1);
	default: return is_unusual(context->this_value, context->baseline_value, 10);
	}
}

static size_t add_evidence(const struct explanation *why, struct happening *out)
{
	for (size_t i = 0; i < why->context_count; i++) {
		const struct explain_context *context = &why->context[i];

		out[i].what = context->what;
		context_value(out[i].now, context->unit, context->this_value);
		context_value(out[i].baseline, context->unit, context->baseline_value);
		out[i].explains_ratio = context->explains_ratio;
		out[i].is_known = !isnan(context->this_value);
		out[i].is_unusual = is_context_unusual(why, context);
	}
	return why->context_count;
}

/* Figures of the whole process: means over the batch's window against those over the baseline batches. */
static size_t add_process(
	const struct model *model, const struct batch *batch, int64_t baseline_from_ns, struct happening *out)
{
	const struct {
		const char *what;
		const struct series *series;
		const char *(*format)(char[NUMBER_SIZE], double);
		double min;
	} rows[] = {
		{ "process: CPU", model->series.cpu_ratio, format_percent, 0.2 },
		{ "process: CPU wait", model->series.run_queue_wait_ratio, format_percent, 0.05 },
		{ "process: reads, bytes/s", model->series.read_bytes_per_s, format_bytes, 1e6 },
		{ "process: writes, bytes/s", model->series.write_bytes_per_s, format_bytes, 1e6 },
		{ "process: major faults/s", model->series.major_faults_per_s, format_rate, 10 },
		{ "process: resident", model->series.resident, format_bytes, INFINITY },
	};
	int64_t to_ns = batch->begin_ns + (int64_t)(batch->step_s * 1e9);
	size_t count = sizeof rows / sizeof rows[0];
	for (size_t i = 0; i < count; i++) {
		double now = NAN, baseline = NAN;

		series_mean(rows[i].series, batch->begin_ns, to_ns, &now);
		series_mean(rows[i].series, baseline_from_ns, batch->begin_ns, &baseline);
		out[i].what = rows[i].what;
		rows[i].format(out[i].now, now);
		rows[i].format(out[i].baseline, baseline);
		out[i].is_known = !isnan(now);
		out[i].is_unusual = is_unusual(now, baseline, rows[i].min);
	}
	return count;
}

/* Storage for texts that are formatted here. */
struct shown_texts {
	char marks[MARKS_MAX][128], figures[RUN_BATCH_FIGURES_MAX][160];
};

static size_t add_marks(
	const struct run *run, const struct batch *batch, struct happening *out, struct shown_texts *texts)
{
	int64_t end_ns = batch->begin_ns + (int64_t)(batch->step_s * 1e9);
	size_t count = 0;
	char text[NUMBER_SIZE];
	for (size_t i = 0; i < run->mark_count && count < MARKS_MAX; i++) {
		int64_t time_ns = run->marks[i].time_ns;

		if (time_ns < batch->begin_ns || time_ns > end_ns)
			continue;
		snprintf(texts->marks[count], sizeof texts->marks[0], "◆ %s", run->marks[i].text);
		out[count].what = texts->marks[count];
		snprintf(
			out[count].now, NUMBER_SIZE, "+%.24s", format_seconds(text, seconds_between(batch->begin_ns, time_ns)));
		out[count++].is_fact = true;
	}
	return count;
}

static const char *figure_value(char out[NUMBER_SIZE], enum figure_unit unit, double value)
{
	switch (unit) {
	case FIGURE_SECONDS: return format_seconds(out, value);
	case FIGURE_BYTES: return format_bytes(out, value);
	case FIGURE_RATIO: return format_percent(out, value);
	default: break;
	}
	snprintf(out, NUMBER_SIZE, isnan(value) ? "–" : "%.4g", value);
	return out;
}

/* Figures reported after the batch, measured by their own clocks. */
static size_t add_figures(const struct run *run, const struct track *track, const struct batch *batch,
	const struct explanation *why, struct happening *out, struct shown_texts *texts)
{
	for (unsigned i = 0; i < batch->figure_count; i++) {
		enum figure_unit unit =
			late_figure_label(texts->figures[i], sizeof texts->figures[0], run_name(run, batch->figures[i].name));
		double now = (double)batch->figures[i].value, baseline = NAN;

		for (size_t k = 0; k < run->late_figure_count; k++)
			if (run->late_figures[k].name == batch->figures[i].name && run->late_figures[k].mode == track->mode)
				baseline = run->late_figures[k].median;
		out[i].what = texts->figures[i];
		figure_value(out[i].now, unit, now);
		figure_value(out[i].baseline, unit, baseline);
		out[i].is_known = true;
		out[i].is_unusual = unit == FIGURE_SECONDS && is_unusual(now, baseline, why->step_s / 20);
	}
	return batch->figure_count;
}

static int64_t baseline_begin(const struct track *track, const struct batch *batch, size_t batches)
{
	uint64_t first = batch->ordinal > batches ? batch->ordinal - batches : 0;
	const struct batch *from = track_batch(track, first > track->first ? first : track->first);
	return from ? from->begin_ns : batch->begin_ns;
}

static void draw_happening(struct canvas *canvas, struct rect row, int name, const struct happening *happening)
{
	char text[NUMBER_SIZE];
	enum role role = happening->is_unusual ? ROLE_FLAG
		: happening->is_fact               ? ROLE_STRONG
		: happening->is_known              ? ROLE_NORMAL
										   : ROLE_DIM;
	canvas_text(canvas, row.x, row.y, name, role, happening->what);
	canvas_text_right(canvas, row.x + name, row.y, FIGURE_WIDTH, role, happening->now);
	canvas_text_right(canvas, row.x + name + FIGURE_WIDTH, row.y, FIGURE_WIDTH, ROLE_DIM, happening->baseline);
	if (happening->explains_ratio > 0)
		canvas_text_right(canvas, row.x + name + 2 * FIGURE_WIDTH, row.y, FIGURE_WIDTH,
			happening->explains_ratio >= 0.2 ? ROLE_STRONG : ROLE_NORMAL,
			format_percent(text, happening->explains_ratio));
	else if (happening->is_unusual)
		canvas_text(canvas, row.x + name + 2 * FIGURE_WIDTH + 2, row.y, 9, ROLE_FLAG, "▲ unusual");
}

/* The unexplained share. */
static bool add_unknown(const struct explanation *why, struct happening *out)
{
	for (size_t i = 0; i < why->cause_count; i++)
		if (why->causes[i].kind == CAUSE_UNKNOWN)
			*out =
				(struct happening){ .what = "unknown", .explains_ratio = why->causes[i].share_ratio, .is_fact = true };
	return out->what;
}

static int pass_of(const struct happening *happening)
{
	return happening->explains_ratio > 0              ? 0
		: happening->is_unusual || happening->is_fact ? 1
		: happening->is_known                         ? 2
													  : 3;
}

/* Stable, so that entries with equal shares keep their order. */
static void stable_sort(struct happening *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct happening moved = list[i];
		size_t at = i;

		for (; at > 0 && list[at - 1].explains_ratio < moved.explains_ratio; at--)
			list[at] = list[at - 1];
		list[at] = moved;
	}
}

/* Order: explaining figures first, then unusual ones, unknown ones last. */
static void draw_happenings(const struct model *model, const struct run *run, const struct track *track,
	const struct batch *batch, const struct explanation *why, struct canvas *canvas, struct rect rect)
{
	struct happening list[HAPPENINGS_MAX] = { 0 };
	struct shown_texts texts;
	size_t count = add_marks(run, batch, list, &texts);
	count += add_evidence(why, list + count);
	count += add_figures(run, track, batch, why, list + count, &texts);
	int name = rect.width - 3 * FIGURE_WIDTH < NAME_CELLS_MAX ? rect.width - 3 * FIGURE_WIDTH : NAME_CELLS_MAX,
		used = 1;
	char title[NUMBER_SIZE + 16], text[NUMBER_SIZE];

	count += add_process(model, batch, baseline_begin(track, batch, why->baseline_batches), list + count);
	count += add_unknown(why, list + count);
	snprintf(title, sizeof title, "during %.20s", parts_time(text, why->step_s, why->baseline_s));
	draw_heading(canvas, rect_row(rect, 0), name, title, "", "explains");
	stable_sort(list, count);
	for (int pass = 0; pass < 4; pass++)
		for (size_t i = 0; i < count && used < rect.height; i++)
			if (pass_of(&list[i]) == pass)
				draw_happening(canvas, rect_row(rect, used++), name, &list[i]);
}

/* -- the panel -- */

/* Advice for the main cause; if it has none, a warning's advice for its phase. NULL: none. */
static const char *next_step(const struct scene *scene, const struct explanation *why)
{
	if (why->cause_count > 0 && why->causes[0].next[0] != '\0')
		return why->causes[0].next;
	for (size_t i = 0; i < scene->alerts->count && why->cause_count > 0 && !scene->focus.has_mode; i++) {
		const struct alert *alert = &scene->alerts->list[i];

		if (alert->is_raised && alert->advice_count > 0 && alert->subject != NAME_NONE &&
			alert->subject == why->causes[0].phase)
			return alert->advice[0];
	}
	return NULL;
}

/* All causes in one row; if the main cause is too long, it alone, wrapped. Returns the rows used. */
static int draw_cause_rows(const struct explanation *why, struct canvas *canvas, struct rect rect)
{
	char text[NUMBER_SIZE], main_cause[sizeof why->causes[0].what + NUMBER_SIZE];
	struct line line;
	if (why->cause_count > 0) {
		snprintf(main_cause, sizeof main_cause, "%s %s", why->causes[0].what,
			format_percent(text, why->causes[0].share_ratio));
		if ((int)text_cells(main_cause) > rect.width && rect.height >= 8)
			return parts_wrap(canvas, rect, ROLE_STRONG, main_cause);
	}
	line_start(&line, " · ");
	for (size_t i = 0; i < why->cause_count; i++)
		line_add(&line, (int)i, i == 0 ? ROLE_STRONG : ROLE_NORMAL, "%s %s", why->causes[i].what,
			format_percent(text, why->causes[i].share_ratio));
	if (why->is_bigger)
		line_add(&line, 1, ROLE_NORMAL, "bigger batch: %.0f samples, median %.0f", why->samples, why->baseline_samples);
	if (why->baseline_batches == 0)
		line_add(&line, 0, ROLE_DIM, "no baseline yet: too few batches before it");
	else if (why->cause_count == 0)
		line_add(&line, 0, ROLE_GOOD, "no phase is unusual");
	if (line_draw(&line, canvas, rect.x, rect.y, rect.width) == 0 && why->cause_count > 0)
		canvas_text(canvas, rect.x, rect.y, rect.width, ROLE_STRONG, main_cause);
	return 1;
}

static int draw_causes(
	const struct scene *scene, const struct explanation *why, struct canvas *canvas, struct rect rect)
{
	const char *next = next_step(scene, why);
	int used = draw_cause_rows(why, canvas, rect);
	if (!next || rect.height < 8)
		return used;
	rect_take_top(&rect, used);
	canvas_text(canvas, rect.x, rect.y, 2, ROLE_ACCENT, "→");
	rect_take_left(&rect, 2);
	return used + parts_wrap(canvas, rect, ROLE_NORMAL, next);
}

static void why_title(const struct run *run, const struct track *track, const struct batch *batch,
	const struct explanation *why, char *title, size_t size, struct line *right)
{
	char kind[BATCH_KIND_SIZE];
	char name[BATCH_WORDS_SIZE], step[NUMBER_SIZE], baseline[NUMBER_SIZE], excess[NUMBER_SIZE], ratio[NUMBER_SIZE] = "";
	snprintf(title, size, batch->is_flagged ? "Why %s was slow" : "Phases of %s", parts_batch_words(name, run, batch));
	if (!isnan(why->ratio))
		snprintf(ratio, sizeof ratio, "%.1f×", why->ratio);
	line_start(right, " · ");
	line_add(right, 0, ROLE_NORMAL, "%s = median %s %s", parts_time(step, why->step_s, why->baseline_s),
		parts_time_bare(baseline, why->baseline_s, why->baseline_s, false),
		parts_time_bare(excess, why->excess_s, why->baseline_s, true));
	if (ratio[0] != '\0')
		line_add(right, 1, ROLE_NORMAL, "%s", ratio);
	if (why->is_by_device)
		line_add(right, 1, ROLE_NORMAL, "GPU clock");
	if (why->is_retained)
		line_add(right, 2, ROLE_NORMAL, "%u samples", why->stack_samples);
	if (batch_kind(kind, run, track, batch)[0] != '\0')
		line_add(right, 2, ROLE_NORMAL, "%s", kind);
	if (batch->is_by_hand)
		line_add(right, 2, ROLE_NORMAL, "flagged by hand");
	if (batch->is_warmup)
		line_add(right, 1, ROLE_NORMAL, "warm-up");
	if (!isnan(batch->loss))
		line_add(right, 3, ROLE_NORMAL, "loss %s", parts_loss(name, batch->loss));
}

void panel_why(
	const struct scene *scene, const struct run *run, uint64_t ordinal, struct canvas *canvas, struct rect rect)
{
	const struct track *track = scene_track(scene, run);
	const struct batch *batch = batch_find(run, track, ordinal, NULL);
	struct explanation room;
	struct line right;
	char title[NUMBER_SIZE + 16];
	if (!batch) {
		canvas_text(canvas, rect.x, rect.y, rect.width, ROLE_DIM, "pmtop no longer retains this batch");
		return;
	}
	const struct explanation *why = explain_any(scene->model, run, track, batch, &room);
	why_title(run, track, batch, why, title, sizeof title, &right);
	struct rect inside = parts_panel(canvas, rect, title, &right, batch->is_flagged ? ROLE_FLAG : ROLE_TITLE);

	rect_take_left(&inside, 1);
	int gap = inside.height >= (int)(why->row_count + why->context_count) + 8 ? 1 : 0;

	rect_take_top(&inside, draw_causes(scene, why, canvas, inside) + gap);
	rect_take_top(&inside, draw_phases(run, why, canvas, inside) + gap);
	if (inside.height > 0)
		draw_happenings(scene->model, run, track, batch, why, canvas, inside);
}
