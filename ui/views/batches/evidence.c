#include "ui/views/batches/evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "ui/core/layout.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/over_time.h"
#include "ui/widgets/plots/trace.h"

/* -- which plot -- */

/* By the beginning of the rule's name. Rules about batches show the step plot; other rules plot their figure's
 * history, which would be a staircase for batches. */
static const struct {
	const char *begin;
	enum evidence_kind kind;
} kinds[] = {
	{ "flagged_batches", EVIDENCE_STEPS },
	{ "variance", EVIDENCE_STEPS },
	{ "slow_first_batch", EVIDENCE_STEPS },
	{ "slow_period", EVIDENCE_STEPS },
	{ "slow_drift", EVIDENCE_STEPS },
	{ "two_kinds", EVIDENCE_STEPS },
	{ "stall", EVIDENCE_STEPS },
	{ "memory_growth", EVIDENCE_MEMORY },
	{ "memory_spike", EVIDENCE_MEMORY },
	{ "memory_limit_near", EVIDENCE_MEMORY },
	{ "slowest_rank", EVIDENCE_RANKS },
	{ "still_rank", EVIDENCE_RANKS },
};

static const struct run *run_of(const struct scene *scene, const struct alert *alert)
{
	const struct run *run = alert->run < scene->model->run_count ? &scene->model->runs[alert->run] : NULL;
	return run && run->is_used ? run : NULL;
}

enum evidence_kind evidence_kind(const struct scene *scene, const struct alert *alert)
{
	enum evidence_kind kind = alert->history ? EVIDENCE_HISTORY
		: alert->subject != NAME_NONE        ? EVIDENCE_STEPS
											 : EVIDENCE_NONE;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strncmp(alert->rule, kinds[i].begin, strlen(kinds[i].begin)) == 0)
			kind = kinds[i].kind;
	if (kind == EVIDENCE_STEPS && run_of(scene, alert) == NULL)
		return alert->history ? EVIDENCE_HISTORY : EVIDENCE_NONE;
	return kind;
}

/* -- in words -- */

static const char *times(char out[NUMBER_SIZE], double ratio)
{
	if (isnan(ratio))
		snprintf(out, NUMBER_SIZE, "–");
	else
		snprintf(out, NUMBER_SIZE, "%.1f×", ratio);
	return out;
}

/* Counts have no decimals. */
static const char *plain(char out[NUMBER_SIZE], double number)
{
	if (!(number == floor(number) && fabs(number) < 1e9))
		return format_rate(out, number);
	snprintf(out, NUMBER_SIZE, "%.0f", number);
	return out;
}

/* The format of each key: exact keys first, then suffixes, which the shown name omits. A ratio is a percentage
 * unless the key names a multiple. */
static const struct form {
	const char *key, *ending, *(*format)(char[NUMBER_SIZE], double), *after;
} forms[] = {
	{ "ratio", "", times, "" },
	{ "slow_ratio", "_ratio", times, "" },
	{ NULL, "_bytes_per_s", format_bytes, "/s" },
	{ NULL, "_bytes_per_batch", format_bytes, "/batch" },
	{ NULL, "_bytes_per_epoch", format_bytes, "/epoch" },
	{ NULL, "_bytes", format_bytes, "" },
	{ NULL, "_per_s", format_rate, "/s" },
	{ NULL, "_ratio", format_percent, "" },
	{ NULL, "_s", format_seconds, "" },
	{ NULL, "_count", format_count, "" },
	{ NULL, "", plain, "" },
};

static const struct form *form_of(const char *key)
{
	const struct form *form = forms;
	size_t length = strlen(key);
	for (;; form++) {
		size_t ending = strlen(form->ending);
		if (form->key ? strcmp(key, form->key) == 0
					  : length > ending && strcmp(key + length - ending, form->ending) == 0)
			return form;
		if (form + 1 == forms + sizeof forms / sizeof forms[0])
			return form;
	}
}

static int add_words(const struct alert_evidence *evidence, char *out, size_t size)
{
	const struct form *form = form_of(evidence->key);
	char name[48], text[NUMBER_SIZE];
	snprintf(name, sizeof name, "%.*s", (int)(strlen(evidence->key) - strlen(form->ending)), evidence->key);
	for (char *c = name; *c != '\0'; c++)
		*c = *c == '_' ? ' ' : *c;
	return snprintf(out, size, "%s %s%s", name, form->format(text, evidence->value), form->after);
}

const char *evidence_words(const struct alert *alert, char *out, size_t size)
{
	size_t length = 0;
	out[0] = '\0';
	for (size_t i = 0; i < alert->evidence_count && length + 1 < size; i++) {
		if (i > 0)
			length += (size_t)snprintf(out + length, size - length, " · ");
		if (length + 1 < size)
			length += (size_t)add_words(&alert->evidence[i], out + length, size - length);
	}
	return out;
}

static const char *figure(char out[NUMBER_SIZE], enum figure_unit unit, double value)
{
	static const char *(*const formats[])(char[NUMBER_SIZE], double) = {
		[FIGURE_NUMBER] = format_rate,
		[FIGURE_SECONDS] = format_seconds,
		[FIGURE_BYTES] = format_bytes,
		[FIGURE_RATIO] = format_percent,
	};
	return formats[unit](out, value);
}

/* A rule without a threshold has neither. */
static bool has_level(const struct alert *alert)
{
	return !isnan(alert->level) && (alert->level != 0 || alert->value != 0);
}

const char *evidence_threshold(const struct alert *alert, char *out, size_t size)
{
	char now[NUMBER_SIZE], level[NUMBER_SIZE];
	const char *way = alert->value > alert->level ? "above" : alert->value < alert->level ? "below" : "at";
	const char *heading = strchr(alert->guide, '"'); /* the part of the guide that a person knows */
	out[0] = '\0';
	if (has_level(alert))
		snprintf(out, size, "%s %s, now %s%s%s", way, figure(level, alert->unit, alert->level),
			figure(now, alert->unit, alert->value), heading ? ", from the guide's " : "", heading ? heading : "");
	return out;
}

/* -- the figure over time -- */

enum { SCALE_HISTORY = 3 };
static const int64_t min_span_ns = 10 * NS_PER_S;

static int64_t first_of(const struct scene *scene, const struct alert *alert)
{
	int64_t first_ns = series_first_ns(alert->history);
	return first_ns > 0 ? first_ns : scene->now_ns;
}

/* From some time before it was raised; each zoom step halves or doubles the time. */
static int64_t history_since(const struct scene *scene, const struct alert *alert)
{
	int64_t held_ns = scene->now_ns - alert->since_ns, first_ns = first_of(scene, alert);
	int64_t span_ns = held_ns + (held_ns / 3 > 30 * NS_PER_S ? held_ns / 3 : 30 * NS_PER_S);
	for (int i = scene->state->zoom; i > 0 && span_ns > min_span_ns; i--)
		span_ns /= 2;
	for (int i = scene->state->zoom; i < 0 && span_ns < scene->now_ns - first_ns; i++)
		span_ns *= 2;
	return scene->now_ns - span_ns > first_ns ? scene->now_ns - span_ns : first_ns;
}

bool evidence_can_zoom(const struct scene *scene, const struct alert *alert, int step)
{
	const struct run *run = run_of(scene, alert);
	switch (evidence_kind(scene, alert)) {
	case EVIDENCE_STEPS: return trace_can_zoom(scene, run, step);
	case EVIDENCE_MEMORY: return trace_can_zoom_time(scene, scene->state->zoom, step);
	case EVIDENCE_HISTORY:
		return step > 0 ? scene->now_ns - history_since(scene, alert) > min_span_ns
						: history_since(scene, alert) > first_of(scene, alert);
	default: return false;
	}
}

static void history_title(const struct scene *scene, const struct alert *alert, struct line *line)
{
	char text[NUMBER_SIZE];
	double min, max;
	line_start(line, " · ");
	line_add(line, 0, ROLE_STRONG, "now %s", figure(text, alert->unit, alert->value));
	if (has_level(alert))
		line_add(line, 1, ROLE_WARNING, "┄ threshold %s", figure(text, alert->unit, alert->level));
	if (series_extremes(alert->history, &min, &max))
		line_add(line, 3, ROLE_NORMAL, "max %s", figure(text, alert->unit, max));
	line_add(line, 2, ROLE_NORMAL, "▲ raised %s", parts_clock(text, scene, alert->since_ns));
	if (!alert->is_raised)
		line_add(line, 2, ROLE_GOOD, "✓ cleared %s", parts_clock(text, scene, alert->cleared_ns));
}

/* A vertical line through the plot, with a label below. */
static void draw_moment(const struct scene *scene, int64_t from_ns, int64_t time_ns, const char *words, enum role role,
	struct canvas *canvas, struct rect plot)
{
	int y = plot.y + plot.height, x;
	struct rect whole = { 0, 0, canvas->width, canvas->height };
	if (time_ns < from_ns || time_ns > scene->now_ns || scene->now_ns <= from_ns)
		return;
	x = plot.x + (int)((double)(time_ns - from_ns) / (double)(scene->now_ns - from_ns) * (plot.width - 1));
	for (int row = plot.y; row < y; row++)
		if (rect_has(whole, x, row) && canvas->cells[row * canvas->width + x].code == ' ')
			canvas_put(canvas, x, row, 0x2502, role);
	int room = plot.x + plot.width - x;

	canvas_text(canvas, x, y, room < (int)text_cells(words) ? 1 : room, role, words);
}

/* "14:00:22" at both ends, in free cells. */
static void draw_ends(const struct scene *scene, int64_t from_ns, struct canvas *canvas, struct rect row)
{
	enum { CELLS = 8 };
	const int64_t times_ns[] = { from_ns, scene->now_ns };
	char text[NUMBER_SIZE];
	for (int end = 0; end < 2; end++) {
		int x = end == 0 ? row.x : row.x + row.width - CELLS;
		bool is_free = row.width >= 2 * CELLS + 2;

		for (int i = x - 1; i < x + CELLS && is_free; i++)
			is_free = !rect_has((struct rect){ 0, 0, canvas->width, canvas->height }, i, row.y) ||
				canvas->cells[row.y * canvas->width + i].code == ' ';
		if (is_free)
			canvas_text(canvas, x, row.y, CELLS, ROLE_DIM, parts_clock(text, scene, times_ns[end]));
	}
}

static void draw_history(struct scene *scene, const struct alert *alert, struct canvas *canvas, struct rect rect)
{
	static const enum plot_unit units[] = {
		[FIGURE_NUMBER] = PLOT_COUNT,
		[FIGURE_SECONDS] = PLOT_SECONDS,
		[FIGURE_BYTES] = PLOT_BYTES,
		[FIGURE_RATIO] = PLOT_PERCENT,
	};
	struct over_time what = {
		.from_ns = history_since(scene, alert),
		.unit = units[alert->unit],
		.from_zero = true,
		.level = has_level(alert) ? alert->level : NAN,
		.count = 1,
		.lines = { { alert->history, ROLE_PLOT } },
	};
	struct scale *scale = &scene->state->scales[SCALE_HISTORY];
	struct line line;
	history_title(scene, alert, &line);
	struct rect inside = parts_panel(canvas, rect, "Evidence", &line, ROLE_TITLE),
				axis = rect_take_bottom(&inside, inside.height >= 4 ? 1 : 0);
	struct rect plot = over_time_draw(scene, canvas, inside, scale, &what);

	if (plot.width == 0)
		return;
	plot_level(canvas, plot, scale, alert->level, ROLE_WARNING);
	if (axis.height == 0)
		return;
	draw_moment(scene, what.from_ns, alert->since_ns, "▲ raised", ROLE_WARNING, canvas, plot);
	if (!alert->is_raised)
		draw_moment(scene, what.from_ns, alert->cleared_ns, "✓ cleared", ROLE_GOOD, canvas, plot);
	draw_ends(scene, what.from_ns, canvas, (struct rect){ plot.x, axis.y, plot.width, 1 });
}

void evidence_draw(struct scene *scene, const struct alert *alert, struct canvas *canvas, struct rect rect)
{
	switch (evidence_kind(scene, alert)) {
	case EVIDENCE_HISTORY: draw_history(scene, alert, canvas, rect); break;
	case EVIDENCE_STEPS: panel_steps(scene, run_of(scene, alert), canvas, rect); break;
	case EVIDENCE_MEMORY: panel_memory(scene, canvas, rect, scene->state->zoom); break;
	case EVIDENCE_RANKS: panel_ranks(scene, canvas, rect); break;
	default:
		canvas_text(canvas, rect.x + 1, rect.y, rect.width - 1, ROLE_DIM,
			"this warning has no plot; its figures are all that is known");
	}
}
