/* Warnings: each with what was seen, what it means, what to try; then which figures are missing, and what would bring them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "ui/layout.h"
#include "ui/views/parts.h"

/* Rows of the list: warnings first, then missing figures. */
static int row_count(const struct scene *scene)
{
	return (int)(scene->alerts->count + scene->model->missing_count);
}

static void draw_alert_row(const struct scene *scene, const struct alert *alert, struct canvas *canvas, struct rect row)
{
	enum role role = alert->is_raised ? parts_severity_role(alert->severity) : ROLE_DIM;
	char text[NUMBER_SIZE];

	canvas_text(canvas, row.x, row.y, 2, role, alert->is_raised ? parts_severity_sign(alert->severity) : "✓");
	canvas_text(canvas, row.x + 2, row.y, 9, ROLE_DIM, severity_name(alert->severity));
	canvas_text(canvas, row.x + 11, row.y, row.width - 11 - 18, alert->is_raised ? ROLE_NORMAL : ROLE_DIM, alert->message);
	if (row.width >= 60)
		canvas_printf(canvas, row.x + row.width - 17, row.y, 17, ROLE_DIM, "%s %s", alert->is_raised ? "since" : "until",
		              parts_clock(text, scene, alert->is_raised ? alert->since_ns : alert->cleared_ns));
}

static void draw_missing_row(const struct missing *missing, struct canvas *canvas, struct rect row)
{
	canvas_text(canvas, row.x, row.y, 2, ROLE_DIM, "–");
	canvas_text(canvas, row.x + 2, row.y, 9, ROLE_DIM, "missing");
	canvas_printf(canvas, row.x + 11, row.y, row.width - 11, ROLE_DIM, "%s: %s", missing->figure, missing->text);
}

static void draw_list(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct view_state *state = scene->state;
	int alerts = (int)scene->alerts->count, count = row_count(scene);
	struct line right;

	line_start(&right, " · ");
	line_add(&right, 0, ROLE_NORMAL, "%zu raised", alerts_raised(scene->alerts));
	if (scene->model->missing_count > 0)
		line_add(&right, 1, ROLE_NORMAL, "figures missing: %zu", scene->model->missing_count);
	struct rect inside = parts_panel(canvas, rect, "Warnings", &right, ROLE_TITLE);

	rect_take_left(&inside, 1);
	parts_list_settle(state, count, inside.height);
	state->list = inside;
	for (int i = 0; i < inside.height && state->scroll + i < count; i++) {
		int at = state->scroll + i;
		struct rect row = rect_row(inside, i);

		if (at < alerts)
			draw_alert_row(scene, &scene->alerts->list[at], canvas, row);
		else
			draw_missing_row(&scene->model->missing[at - alerts], canvas, row);
		if (at == state->row)
			parts_select(canvas, row);
	}
}

/* A heading and its text, indented; returns what lies below. */
static struct rect draw_section(struct canvas *canvas, struct rect rect, const char *heading, enum role role, const char *text)
{
	struct rect body = rect;
	int rows;

	if (text[0] == '\0')
		return rect;
	canvas_text(canvas, rect.x, rect.y, 11, ROLE_HEADER, rect.height > 0 ? heading : "");
	rect_take_left(&body, 11);
	rows = parts_wrap(canvas, body, role, text);
	rect_take_top(&rect, rows);
	return rect;
}

/* "share 34 %", "seconds 0.201 s": base units by what the key ends with. */
static void evidence_text(const struct alert_evidence *evidence, char *out, size_t size)
{
	static const struct { const char *ending; const char *(*format)(char[NUMBER_SIZE], double); const char *after; } forms[] = {
		{ "_bytes_per_s", format_bytes, "/s" }, { "_bytes_per_batch", format_bytes, "" }, { "_bytes", format_bytes, "" }, { "_per_s", format_rate, "/s" }, { "share_ratio", format_percent, "" },
		{ "_s", format_seconds, "" }, { "_count", format_count, "" }, { "batches", format_count, "" },
	};
	size_t length = strlen(evidence->key);
	char text[NUMBER_SIZE];

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		size_t ending = strlen(forms[i].ending);

		if (length >= ending && strcmp(evidence->key + length - ending, forms[i].ending) == 0) {
			snprintf(out, size, "%s %s%s", evidence->key, forms[i].format(text, evidence->value), forms[i].after);
			return;
		}
	}
	snprintf(out, size, "%s %s", evidence->key, format_rate(text, evidence->value));
}

static void draw_alert(const struct alert *alert, struct canvas *canvas, struct rect rect)
{
	char text[512] = "", one[96];
	size_t length = 0;

	rect = draw_section(canvas, rect, "seen", ROLE_STRONG, alert->message);
	rect = draw_section(canvas, rect, "means", ROLE_NORMAL, alert->meaning);
	for (size_t i = 0; i < alert->advice_count; i++)
		rect = draw_section(canvas, rect, i == 0 ? "try" : "or", i == 0 ? ROLE_ACCENT : ROLE_NORMAL, alert->advice[i]);
	for (size_t i = 0; i < alert->evidence_count && length < sizeof text; i++) {
		evidence_text(&alert->evidence[i], one, sizeof one);
		length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i > 0 ? " · " : "", one);
	}
	draw_section(canvas, rect, "evidence", ROLE_DIM, text);
}

static void draw_missing(const struct missing *missing, struct canvas *canvas, struct rect rect)
{
	rect = draw_section(canvas, rect, "missing", ROLE_STRONG, missing->figure);
	rect = draw_section(canvas, rect, "because", ROLE_NORMAL, missing->text);
	draw_section(canvas, rect, "try", ROLE_ACCENT, missing->remedy);
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	int count = row_count(scene), frame = parts_panel_rows(canvas), rows = frame + (count < rect.height / 2 ? count : rect.height / 2);

	if (count == 0) {
		parts_note(canvas, rect, "Warnings", "Nothing to warn of so far, and no figure is missing. Slow first batches, flagged batches, variance, operations that "
		           "take most of the time, waiting for data and growing memory are watched for.");
		return;
	}
	draw_list(scene, canvas, rect_take_top(&rect, rows));
	if (rect.height <= frame)
		return;
	int row = scene->state->row, alerts = (int)scene->alerts->count;
	struct rect inside = parts_panel(canvas, rect, row < alerts ? scene->alerts->list[row].rule : "Missing figure", NULL, ROLE_TITLE);

	rect_take_left(&inside, 1);
	if (row < alerts)
		draw_alert(&scene->alerts->list[row], canvas, inside);
	else
		draw_missing(&scene->model->missing[row - alerts], canvas, inside);
}

static bool key(struct scene *scene, struct key_event event, struct rect rect)
{
	(void)rect;
	return parts_list_key(scene->state, event, row_count(scene), scene->state->list);
}

static void write(const struct scene *scene, struct buffer *out)
{
	buffer_puts(out, "since_ns,since,rule,severity,raised,message,meaning,advice\n");
	for (size_t i = 0; i < scene->alerts->count; i++) {
		const struct alert *alert = &scene->alerts->list[i];

		parts_csv_time(out, true, scene, alert->since_ns);
		parts_csv_text(out, false, alert->rule);
		parts_csv_text(out, false, severity_name(alert->severity));
		parts_csv_integer(out, false, alert->is_raised);
		parts_csv_text(out, false, alert->message);
		parts_csv_text(out, false, alert->meaning);
		parts_csv_text(out, false, alert->advice_count > 0 ? alert->advice[0] : "");
		buffer_puts(out, "\n");
	}
}

const struct view warnings_view = {
	.name = "Warnings", .short_name = "Warn", .digit = '8',
	.keys = "q quit  Tab view  ↑↓ warning  Space pause  w write  ? help",
	.keys_short = "q quit  Tab view  ↑↓ warning  w write  ? help",
	.draw = draw, .key = key, .write = write,
};
