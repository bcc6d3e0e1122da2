/* Warnings: each with its message, the reason and what to try; Enter shows the evidence as a plot. Cleared ones
 * stay, with their times; then the missing figures and how to get them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/rules/alerts_list.h"
#include "ui/core/layout.h"
#include "ui/views/batches/evidence.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/batch_focus.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/trace.h"

/* -- rows: warnings first, then missing figures -- */

static int row_count(const struct scene *scene) { return (int)(scene->alerts->count + scene->model->missing_count); }

/* NULL if the row is no warning. */
static const struct alert *alert_at(const struct scene *scene, int row)
{
	return row >= 0 && row < (int)scene->alerts->count ? &scene->alerts->list[row] : NULL;
}

static const struct missing *missing_at(const struct scene *scene, int row)
{
	int at = row - (int)scene->alerts->count;
	return at >= 0 && at < (int)scene->model->missing_count ? &scene->model->missing[at] : NULL;
}

/* Identity of a row's subject, independent of its position: FNV-1a, never 0. */
static uint64_t identity(const struct scene *scene, int row)
{
	const struct alert *alert = alert_at(scene, row);
	const struct missing *missing = missing_at(scene, row);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (const char *c = alert ? alert->rule : missing ? missing->figure : ""; *c != '\0'; c++)
		hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	if (alert)
		hash = (hash ^ ((uint64_t)alert->run << 32 | alert->subject)) * UINT64_C(0x100000001b3);
	return hash != 0 ? hash : 1;
}

/* Rows move as warnings come and go; the selection follows its subject. */
static void follow_chosen(struct scene *scene)
{
	struct view_state *state = scene->state;
	for (int row = 0; state->chosen != 0 && row < row_count(scene); row++)
		if (identity(scene, row) == state->chosen) {
			state->row = row;
			return;
		}
	state->chosen = 0;
	state->is_open = false;
}

static void choose(struct scene *scene)
{
	struct view_state *state = scene->state;
	uint64_t now = identity(scene, state->row);
	if (now == state->chosen)
		return;
	state->chosen = now;
	state->zoom = 0;
	memset(state->scales, 0, sizeof state->scales);
}

/* -- the list -- */

/* Critical warnings have their own sign, for screens without colour. */
static const char *sign_of(const struct alert *alert)
{
	return !alert->is_raised ? "✓" : alert->severity == SEVERITY_CRITICAL ? "⚠⚠" : parts_severity_sign(alert->severity);
}

/* "since 14:00:22 · 38 s", "14:00:22 – 14:03:10"; short "38 s", "until 14:03:10". */
static const char *when_of(const struct scene *scene, const struct alert *alert, bool is_wide, char *out, size_t size)
{
	char from[NUMBER_SIZE], to[NUMBER_SIZE];
	parts_clock(from, scene, alert->since_ns);
	if (alert->is_raised)
		snprintf(out, size, is_wide ? "since %s · %s" : "%.0s%s", from,
			parts_waiting(to, seconds_between(alert->since_ns, scene->now_ns)));
	else
		snprintf(out, size, is_wide ? "%s – %s" : "%.0suntil %s", from, parts_clock(to, scene, alert->cleared_ns));
	return out;
}

static void draw_alert_row(const struct scene *scene, const struct alert *alert, struct canvas *canvas, struct rect row)
{
	enum role role = alert->is_raised ? parts_severity_role(alert->severity) : ROLE_DIM;
	bool is_wide = row.width >= 96, has_when = row.width >= 50;
	rect_take_right(&row, parts_is_roomy(canvas) ? 1 : 0);
	char when[2 * NUMBER_SIZE + 8];
	int right = has_when ? 2 + (int)text_cells(when_of(scene, alert, is_wide, when, sizeof when)) : 0;

	canvas_text(canvas, row.x, row.y, 2, role, sign_of(alert));
	rect_take_left(&row, 3);
	if (is_wide) {
		canvas_text(canvas, row.x, row.y, 9, alert->is_raised ? role : ROLE_DIM, severity_name(alert->severity));
		rect_take_left(&row, 9);
	}
	canvas_text(canvas, row.x, row.y, row.width - right, alert->is_raised ? ROLE_NORMAL : ROLE_DIM, alert->message);
	if (has_when)
		canvas_text_right(canvas, row.x, row.y, row.width, ROLE_DIM, when);
}

static void draw_missing_row(const struct missing *missing, struct canvas *canvas, struct rect row)
{
	canvas_text(canvas, row.x, row.y, 2, ROLE_DIM, "–");
	rect_take_left(&row, 3);
	canvas_printf(canvas, row.x, row.y, row.width, ROLE_DIM, "missing: %s: %s", missing->figure, missing->text);
}

static void list_title(const struct scene *scene, struct line *line)
{
	size_t raised = alerts_raised(scene->alerts), cleared = scene->alerts->count - raised;
	line_start(line, " · ");
	line_add(line, 0, ROLE_NORMAL, "%zu raised", raised);
	if (cleared > 0)
		line_add(line, 1, ROLE_DIM, "%zu cleared", cleared);
	if (scene->model->missing_count > 0)
		line_add(line, 2, ROLE_DIM, "figures missing: %zu", scene->model->missing_count);
}

static void draw_list(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct view_state *state = scene->state;
	int count = row_count(scene);
	struct line right;
	list_title(scene, &right);
	struct rect inside = parts_panel(canvas, rect, "Warnings", &right, ROLE_TITLE);

	rect_take_left(&inside, 1);
	parts_list_settle(state, count, inside.height);
	state->list = inside;
	for (int i = 0; i < inside.height && state->scroll + i < count; i++) {
		int at = state->scroll + i;
		struct rect row = rect_row(inside, i);

		if (alert_at(scene, at) != NULL)
			draw_alert_row(scene, alert_at(scene, at), canvas, row);
		else
			draw_missing_row(missing_at(scene, at), canvas, row);
		if (at == state->row)
			parts_select(canvas, row);
	}
}

/* -- the selected one -- */

enum { HEADING = 10 };

/* A heading and its text, indented; returns the rectangle below. */
static struct rect draw_section(
	struct canvas *canvas, struct rect rect, const char *heading, enum role role, const char *text)
{
	struct rect body = rect;
	int rows;
	if (text[0] == '\0')
		return rect;
	canvas_text(canvas, rect.x, rect.y, HEADING, ROLE_HEADER, rect.height > 0 ? heading : "");
	rect_take_left(&body, HEADING);
	rows = parts_wrap(canvas, body, role, text);
	rect_take_top(&rect, rows);
	return rect;
}

/* Message, reason, advice, threshold; without the reason if `is_short`. Returns the rectangle below. */
static struct rect draw_words(const struct alert *alert, bool is_short, struct canvas *canvas, struct rect rect)
{
	const char *meaning = is_short ? "" : alert->meaning;
	char text[512];
	rect = draw_section(canvas, rect, "what", ROLE_STRONG, alert->message);
	rect = draw_section(canvas, rect, "why", ROLE_NORMAL, meaning);
	rect = draw_section(
		canvas, rect, meaning[0] != '\0' ? "" : "why", ROLE_INFO, evidence_words(alert, text, sizeof text));
	for (size_t i = 0; i < alert->advice_count; i++) {
		snprintf(text, sizeof text, "%zu. %s", i + 1, alert->advice[i]);
		rect = draw_section(canvas, rect, i == 0 ? "try" : "", i == 0 ? ROLE_ACCENT : ROLE_NORMAL, text);
	}
	return draw_section(canvas, rect, "threshold", ROLE_DIM, evidence_threshold(alert, text, sizeof text));
}

/* Measures the height by drawing onto an empty canvas. */
static int words_height(const struct alert *alert, bool is_short, int width)
{
	enum { ENDLESS = 10000 };
	struct canvas nothing = { .charset = CHARSET_BRAILLE };
	return ENDLESS - draw_words(alert, is_short, &nothing, (struct rect){ 0, 0, width - 3, ENDLESS }).height;
}

static void detail_title(const struct scene *scene, const struct alert *alert, struct line *line)
{
	char when[2 * NUMBER_SIZE + 8];
	line_start(line, " · ");
	line_add(line, 0, alert->is_raised ? parts_severity_role(alert->severity) : ROLE_DIM, "%s",
		alert->is_raised ? severity_name(alert->severity) : "cleared");
	line_add(line, 2, ROLE_NORMAL, "%s", when_of(scene, alert, true, when, sizeof when));
	if (evidence_kind(scene, alert) != EVIDENCE_NONE)
		line_add(line, 1, ROLE_KEY, scene->state->is_open ? "Esc back" : "Enter evidence");
}

/* The plot's height below the text. */
enum { PLOT_MIN = 8, PLOT_MAX = 30 };

static void draw_detail(struct scene *scene, const struct alert *alert, struct canvas *canvas, struct rect rect)
{
	struct line right;
	int words = words_height(alert, false, rect.width), frame = parts_panel_rows(canvas),
		room = rect.height - frame - words;
	bool has_plot = room >= PLOT_MIN && evidence_kind(scene, alert) != EVIDENCE_NONE;
	struct rect plot = rect_take_bottom(&rect, !has_plot ? 0 : room < PLOT_MAX ? room : PLOT_MAX);
	detail_title(scene, alert, &right);
	struct rect inside = parts_panel(canvas, rect, alert->rule, &right, ROLE_TITLE);

	rect_take_left(&inside, 1);
	draw_words(alert, false, canvas, inside);
	if (has_plot)
		evidence_draw(scene, alert, canvas, plot);
}

static void draw_missing(const struct missing *missing, struct canvas *canvas, struct rect rect)
{
	struct rect inside = parts_panel(canvas, rect, "Missing figure", NULL, ROLE_TITLE);
	rect_take_left(&inside, 1);
	inside = draw_section(canvas, inside, "missing", ROLE_STRONG, missing->figure);
	inside = draw_section(canvas, inside, "why", ROLE_NORMAL, missing->text);
	draw_section(canvas, inside, "try", ROLE_ACCENT, missing->remedy);
}

/* The evidence fills the view, with the text below as far as there is room. */
static void draw_open(struct scene *scene, const struct alert *alert, struct canvas *canvas, struct rect rect)
{
	int frame = parts_panel_rows(canvas), max = rect.height * 2 / 5,
		words = frame + words_height(alert, false, rect.width);
	bool is_short = words > max;
	words = is_short ? frame + words_height(alert, true, rect.width) : words;
	struct rect below = rect_take_bottom(&rect, words < max ? words : max);
	struct line right;

	evidence_draw(scene, alert, canvas, rect);
	detail_title(scene, alert, &right);
	struct rect inside = parts_panel(canvas, below, alert->rule, &right, ROLE_TITLE);

	rect_take_left(&inside, 1);
	draw_words(alert, is_short, canvas, inside);
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct view_state *state = scene->state;
	int count = row_count(scene), frame = parts_panel_rows(canvas);
	state->list = state->plot = (struct rect){ 0, 0, 0, 0 };
	if (count == 0) {
		parts_note(canvas, rect, "Warnings",
			"No warnings so far, and no figure is missing.\n"
			"pmtop checks for slow first batches, flagged batches, variance, dominant operations, DataLoader wait, "
			"growing memory and a busy machine.");
		return;
	}
	follow_chosen(scene);
	parts_list_settle(state, count, rect.height);
	const struct alert *alert = alert_at(scene, state->row);

	if (state->is_open && alert) {
		draw_open(scene, alert, canvas, rect);
		return;
	}
	bool is_beside = canvas->width >= 160 && parts_is_roomy(canvas);
	int rows = frame + (count < rect.height / 2 ? count : rect.height / 2);

	draw_list(scene, canvas, is_beside ? rect_take_left(&rect, rect.width * 9 / 20) : rect_take_top(&rect, rows));
	if (rect.height == 0)
		return;
	if (alert)
		draw_detail(scene, alert, canvas, rect);
	else
		draw_missing(missing_at(scene, state->row), canvas, rect);
}

/* -- keys -- */

static bool matches(const void *rows, int row, const char *search)
{
	const struct scene *scene = rows;
	const struct alert *alert = alert_at(scene, row);
	const struct missing *missing = missing_at(scene, row);
	if (alert)
		return parts_matches(alert->rule, search) || parts_matches(alert->message, search) ||
			parts_matches(alert->meaning, search);
	return missing && (parts_matches(missing->figure, search) || parts_matches(missing->text, search));
}

/* Opens the newest slow batch of the warning's run. */
static void go_to_batch(struct scene *scene, const struct alert *alert, int key)
{
	if (!alert || evidence_kind(scene, alert) != EVIDENCE_STEPS) {
		snprintf(scene->message, sizeof scene->message, "this warning has no single batch; Enter shows the evidence");
		return;
	}
	scene->run = (int)alert->run;
	scene->focus = (struct focus){ .at_live_end = true };
	batch_key(scene, &scene->model->runs[alert->run], (struct key_event){ .key = key });
	if (scene->focus.at_live_end)
		return;
	scene->focus.is_open = true;
	scene->go_to = "Batches";
}

static void open_evidence(struct scene *scene, const struct alert *alert)
{
	if (!alert || evidence_kind(scene, alert) == EVIDENCE_NONE) {
		snprintf(scene->message, sizeof scene->message,
			alert == NULL ? "a missing figure has no plot" : "this warning has no plot");
		return;
	}
	choose(scene);
	scene->state->is_open = true;
}

static void zoom(struct scene *scene, const struct alert *alert, int step)
{
	choose(scene);
	if (alert && evidence_can_zoom(scene, alert, step))
		scene->state->zoom += step;
}

static bool key(struct scene *scene, struct key_event event, struct rect rect)
{
	struct view_state *state = scene->state;
	const struct alert *alert;
	(void)rect;
	if (row_count(scene) == 0)
		return false;
	follow_chosen(scene);
	alert = alert_at(scene, state->row);
	switch (event.key) {
	case KEY_RETURN: open_evidence(scene, alert); return true;
	case KEY_ESC:
		if (!state->is_open)
			return false;
		state->is_open = false;
		return true;
	case '+':
	case '=': zoom(scene, alert, 1); return true;
	case '-': zoom(scene, alert, -1); return true;
	case 'n':
	case 'N':
		if (state->search[0] == '\0')
			go_to_batch(scene, alert, event.key);
		else if (parts_list_find(scene, event, row_count(scene), "warning", matches, scene))
			choose(scene);
		return true;
	default: break;
	}
	if (!parts_list_key(state, event, row_count(scene), state->list))
		return false;
	choose(scene);
	return true;
}

static void write(const struct scene *scene, struct buffer *out)
{
	buffer_puts(
		out, "since_ns,since,rule,severity,raised,message,meaning,advice,cleared_ns,cleared,value,level,guide\n");
	for (size_t i = 0; i < scene->alerts->count; i++) {
		const struct alert *alert = &scene->alerts->list[i];

		parts_csv_time(out, true, scene, alert->since_ns);
		parts_csv_text(out, false, alert->rule);
		parts_csv_text(out, false, severity_name(alert->severity));
		parts_csv_integer(out, false, alert->is_raised);
		parts_csv_text(out, false, alert->message);
		parts_csv_text(out, false, alert->meaning);
		parts_csv_text(out, false, alert->advice_count > 0 ? alert->advice[0] : "");
		parts_csv_time(out, false, scene, alert->cleared_ns);
		parts_csv_number(out, false, alert->value);
		parts_csv_number(out, false, alert->level);
		parts_csv_text(out, false, alert->guide);
		buffer_puts(out, "\n");
	}
}

const struct view warnings_view = {
	.name = "Warnings",
	.short_name = "Warn",
	.digit = '8',
	.keys = "q quit  Tab view  ↑↓ warning  Enter evidence  +/- zoom  n its slow batch  / search  Space pause  w save "
			"CSV  ? help",
	.keys_short = "q quit  Tab view  ↑↓ warning  Enter evidence  n slow batch  / search  ? help",
	.can_search = true,
	.draw = draw,
	.key = key,
	.write = write,
};
