#include "ui/widgets/parts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/base/formats/cells.h"
#include "src/base/text_width.h"
#include "ui/core/layout.h"

bool parts_is_roomy(const struct canvas *canvas) { return canvas->width >= 100 && canvas->height >= 30; }

int parts_panel_rows(const struct canvas *canvas) { return parts_is_roomy(canvas) ? 2 : 1; }

struct rect parts_panel(
	struct canvas *canvas, struct rect rect, const char *title, struct line *right, enum role title_role)
{
	char text[512];
	const char *shown = NULL;
	int room = rect.width - (int)text_cells(title) - 10;
	if (right && line_fit(right, room) > 0)
		shown = line_text(right, room, text, sizeof text);
	bool is_box = parts_is_roomy(canvas) && rect.height > 1 && rect.width >= 4;
	struct rect inside = parts_is_roomy(canvas) ? canvas_box(canvas, rect, title, shown, title_role)
												: canvas_rule(canvas, rect, title, shown, title_role);

	/* draws each piece again in its own role */
	if (shown)
		line_draw_right(right, canvas, rect.x, rect.y, rect.width - (is_box ? 3 : 2));
	return inside;
}

/* The length in bytes of the part of `text` that fits into `width` cells, cut before a word; at least one byte of a
 * word that is too long. */
static size_t fitting(const char *text, int width)
{
	size_t length = strlen(text), at = 0, word_end = 0;
	int cells = 0;
	while (at < length && text[at] != '\n') {
		uint32_t code;
		size_t used = utf8_decode(text + at, length - at, &code);

		if (code == ' ')
			word_end = at;
		cells += utf8_cells(code);
		if (cells > width)
			return word_end > 0 ? word_end : at > 0 ? at : used;
		at += used;
	}
	return at;
}

int parts_wrap(struct canvas *canvas, struct rect rect, enum role role, const char *text)
{
	char row[1024];
	int rows = 0;
	while (*text != '\0' && rect.width > 0) {
		size_t length = fitting(text, rect.width), retained = length < sizeof row ? length : sizeof row - 1;

		memcpy(row, text, retained);
		row[retained] = '\0';
		if (rows < rect.height)
			canvas_text(canvas, rect.x, rect.y + rows, rect.width, role, row);
		rows++;
		text += length;
		if (*text == ' ' || *text == '\n')
			text++;
	}
	return rows;
}

void parts_note(struct canvas *canvas, struct rect rect, const char *title, const char *text)
{
	struct rect box = rect, nowhere = { 0, 0, 0, 0 };
	box.width = rect.width < 76 ? rect.width : 76;
	nowhere.width = box.width - 6;
	box.height = parts_wrap(canvas, nowhere, ROLE_NORMAL, text) + 4;
	if (box.height > rect.height)
		box.height = rect.height;
	box.x += (rect.width - box.width) / 2;
	box.y += (rect.height - box.height) / 3;
	struct rect inside = canvas_box(canvas, box, title, NULL, ROLE_TITLE);

	if (inside.height > 2)
		rect_take_top(&inside, 1);
	rect_take_left(&inside, 2);
	rect_take_right(&inside, 2);
	parts_wrap(canvas, inside, ROLE_NORMAL, text);
}

static int64_t realtime_of(const struct scene *scene, int64_t time_ns)
{
	return scene->realtime_ns - (scene->now_ns - time_ns);
}

const char *parts_clock(char out[NUMBER_SIZE], const struct scene *scene, int64_t time_ns)
{
	time_t seconds = (time_t)(realtime_of(scene, time_ns) / NS_PER_S);
	struct tm parts;
	if (time_ns == 0 || localtime_r(&seconds, &parts) == NULL || strftime(out, NUMBER_SIZE, "%H:%M:%S", &parts) == 0)
		snprintf(out, NUMBER_SIZE, "–");
	return out;
}

/* The smallest value for each unit, and its decimals: three digits or more at every size. */
static const struct time_form {
	double from, scale;
	int decimals;
	const char *unit;
} time_forms[] = {
	{ 100, 1, 1, "s" },
	{ 10, 1, 2, "s" },
	{ 0.02, 1, 3, "s" },
	{ 0.002, 1e3, 2, "ms" },
	{ 0.0002, 1e3, 3, "ms" },
	{ 0.00002, 1e6, 1, "µs" },
	{ -INFINITY, 1e6, 2, "µs" },
};

static const struct time_form *time_form_of(double like)
{
	const struct time_form *form = time_forms;
	if (isnan(like))
		like = 1;
	while (like < form->from)
		form++;
	return form;
}

const char *parts_time_unit(double like) { return time_form_of(like)->unit; }

const char *parts_time_bare(char out[NUMBER_SIZE], double seconds, double like, bool is_signed)
{
	const struct time_form *form = time_form_of(like);
	double value = seconds * form->scale;
	bool is_nothing = fabs(value) < 0.5 * pow(10, -form->decimals);
	if (isnan(seconds))
		snprintf(out, NUMBER_SIZE, "–");
	else if (is_nothing)
		snprintf(out, NUMBER_SIZE, is_signed || seconds <= 0 ? "%.*f" : "<%.*f", form->decimals,
			is_signed || seconds <= 0 ? 0 : pow(10, -form->decimals));
	else
		snprintf(out, NUMBER_SIZE, is_signed ? "%+.*f" : "%.*f", form->decimals, value);
	return out;
}

const char *parts_time(char out[NUMBER_SIZE], double seconds, double like)
{
	char bare[NUMBER_SIZE];
	if (isnan(seconds))
		snprintf(out, NUMBER_SIZE, "–");
	else
		snprintf(out, NUMBER_SIZE, "%.24s %s", parts_time_bare(bare, seconds, like, false), parts_time_unit(like));
	return out;
}

const char *parts_loss(char out[NUMBER_SIZE], double loss)
{
	double size = fabs(loss);
	if (isnan(loss))
		snprintf(out, NUMBER_SIZE, "–");
	else
		snprintf(out, NUMBER_SIZE, size >= 1e-3 && size < 1e4 ? "%.4f" : "%.2e", loss);
	return out;
}

const char *parts_batch_words(char out[BATCH_WORDS_SIZE], const struct run *run, const struct batch *batch)
{
	char epoch[RUN_EPOCH_NAME_SIZE];
	snprintf(out, BATCH_WORDS_SIZE, "batch %llu of epoch %s", (unsigned long long)batch->index,
		run_epoch_name(run, batch->epoch_ordinal, epoch));
	return out;
}

const char *parts_batch_name(char out[NUMBER_SIZE], const struct run *run, const struct batch *batch)
{
	char epoch[RUN_EPOCH_NAME_SIZE];
	snprintf(out, NUMBER_SIZE, "%s/%llu", run_epoch_name(run, batch->epoch_ordinal, epoch),
		(unsigned long long)batch->index);
	return out;
}

const char *parts_batches(char out[NUMBER_SIZE], const struct scene *scene, bool is_at_least, double count)
{
	char text[NUMBER_SIZE];
	const char *before = !is_at_least ? "" : scene->is_ascii ? "at least " : "≥ ";
	snprintf(out, NUMBER_SIZE, "%s%.16s", before, parts_thousands(text, count));
	return out;
}

const char *parts_thousands(char out[NUMBER_SIZE], double count)
{
	char digits[NUMBER_SIZE];
	size_t length, written = 0;
	if (isnan(count) || fabs(count) >= 1e12)
		return format_count(out, count);
	length = (size_t)snprintf(digits, sizeof digits, "%.0f", count);
	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
			out[written++] = ',';
		out[written++] = digits[i];
	}
	out[written] = '\0';
	return out;
}

const char *parts_bytes_per_s(char out[NUMBER_SIZE], double bytes_per_s)
{
	char text[NUMBER_SIZE];
	snprintf(out, NUMBER_SIZE, isnan(bytes_per_s) ? "%s" : "%.24s/s", format_bytes(text, bytes_per_s));
	return out;
}

const char *parts_waiting(char out[NUMBER_SIZE], double seconds)
{
	if (isnan(seconds) || seconds >= 3600)
		return format_seconds(out, seconds);
	snprintf(out, NUMBER_SIZE, seconds < 60 ? "%.0f s" : "%.0f min", floor(seconds < 60 ? seconds : seconds / 60));
	return out;
}

void parts_list_settle(struct view_state *state, int count, int height)
{
	if (state->row >= count)
		state->row = count - 1;
	if (state->row < 0)
		state->row = 0;
	if (state->scroll > state->row)
		state->scroll = state->row;
	if (height > 0 && state->scroll < state->row - height + 1)
		state->scroll = state->row - height + 1;
	if (state->scroll < 0 || count <= height)
		state->scroll = 0;
}

bool parts_list_key(struct view_state *state, struct key_event event, int count, struct rect list)
{
	int page = list.height > 1 ? list.height - 1 : 1;
	switch (event.key) {
	case KEY_ARROW_UP:
	case 'k':
	case KEY_WHEEL_UP: state->row--; break;
	case KEY_ARROW_DOWN:
	case 'j':
	case KEY_WHEEL_DOWN: state->row++; break;
	case KEY_PAGE_UP: state->row -= page; break;
	case KEY_PAGE_DOWN: state->row += page; break;
	case KEY_TO_HOME: state->row = 0; break;
	case KEY_TO_END: state->row = count - 1; break;
	case KEY_CLICK:
		if (!rect_has(list, event.x, event.y))
			return false;
		state->row = state->scroll + event.y - list.y;
		break;
	default: return false;
	}
	parts_list_settle(state, count, list.height);
	return true;
}

bool parts_sort_key(struct view_state *state, struct key_event event, int count)
{
	switch (event.key) {
	case '<': state->sort = (state->sort + count - 1) % count; return true;
	case '>': state->sort = (state->sort + 1) % count; return true;
	case 'I': state->sort_ascending = !state->sort_ascending; return true;
	default: return false;
	}
}

void parts_sort_by(struct view_state *state, int column)
{
	state->sort_ascending = column == state->sort && !state->sort_ascending;
	state->sort = column;
}

bool parts_list_find(struct scene *scene, struct key_event event, int count, const char *what,
	bool (*matches)(const void *rows, int row, const char *search), const void *rows)
{
	struct view_state *state = scene->state;
	for (int i = 1; i <= count; i++) {
		int row = (state->row + (event.key == 'n' ? i : count - i)) % count;
		if (matches(rows, row, state->search)) {
			state->row = row;
			return true;
		}
	}
	snprintf(scene->message, sizeof scene->message, "no %s matches \"%s\"", what, state->search);
	return false;
}

void parts_select(struct canvas *canvas, struct rect row)
{
	if (row.height < 1 || row.y < 0 || row.y >= canvas->height)
		return;
	for (int x = row.x > 0 ? row.x : 0; x < row.x + row.width && x < canvas->width; x++)
		canvas->cells[row.y * canvas->width + x].role = ROLE_SELECTED;
}

bool parts_is_warned(const struct alerts *alerts, int run, uint32_t name)
{
	for (size_t i = 0; i < alerts->count; i++) {
		const struct alert *alert = &alerts->list[i];

		if (alert->is_raised && alert->severity > SEVERITY_INFO && alert->subject == name && name != NAME_NONE &&
			(int)alert->run == run)
			return true;
	}
	return false;
}

enum role parts_severity_role(enum severity severity)
{
	static const enum role roles[] = { ROLE_INFO, ROLE_WARNING, ROLE_CRITICAL };
	return roles[severity];
}

const char *parts_severity_sign(enum severity severity) { return severity == SEVERITY_INFO ? "·" : "⚠"; }

bool parts_matches(const char *text, const char *part)
{
	size_t length = strlen(part);
	for (; *text != '\0' || length == 0; text++) {
		size_t same = 0;

		while (same < length && tolower((unsigned char)text[same]) == tolower((unsigned char)part[same]))
			same++;
		if (same == length)
			return true;
	}
	return false;
}

static void csv_comma(struct buffer *out, bool is_first)
{
	if (!is_first)
		buffer_puts(out, ",");
}

void parts_csv_text(struct buffer *out, bool is_first, const char *text)
{
	csv_comma(out, is_first);
	cell_text(out, text);
}

void parts_csv_number(struct buffer *out, bool is_first, double value)
{
	csv_comma(out, is_first);
	cell_number(out, value);
}

void parts_csv_integer(struct buffer *out, bool is_first, int64_t value)
{
	csv_comma(out, is_first);
	buffer_printf(out, "%lld", (long long)value);
}

void parts_csv_time(struct buffer *out, bool is_first, const struct scene *scene, int64_t time_ns)
{
	int64_t realtime_ns = realtime_of(scene, time_ns);
	csv_comma(out, is_first);
	if (time_ns != 0)
		buffer_printf(out, "%lld", (long long)realtime_ns);
	buffer_puts(out, ",");
	if (time_ns != 0)
		cell_time(out, realtime_ns, 3);
}
