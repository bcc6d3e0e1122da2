#include "ui/widgets/replay_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "ui/core/layout.h"
#include "ui/core/line.h"

enum { CLOCK_CELLS = 8, CLOCK_MIN = 60, WIDE = 100, RIGHT_WIDE = 34, RIGHT = 15, RIGHT_NARROW = 10, EIGHTHS = 8 };

/* -- how much room -- */

int replay_line_rows(const struct replay_line *line, const struct canvas *canvas)
{
	if (line->state == REPLAY_STILL)
		return 0;
	if (!line->has_span || canvas->height < 30)
		return 1;
	return canvas->height < 50 ? 2 : 3;
}

/* The same format that the prompt accepts. */
static int format_elapsed(char out[NUMBER_SIZE], int64_t ns)
{
	long long seconds = ns > 0 ? ns / NS_PER_S : 0;
	return snprintf(out, NUMBER_SIZE, "%lld:%02d:%02d", seconds / 3600, (int)(seconds / 60 % 60), (int)(seconds % 60));
}

static int left_cells(const struct replay_line *line, int width)
{
	char total[NUMBER_SIZE];
	return 1 + (width >= CLOCK_MIN ? CLOCK_CELLS + 2 : 0) + 2 * format_elapsed(total, line->end_ns - line->begin_ns) +
		3 + 2;
}

static int right_cells(int width) { return width >= WIDE ? RIGHT_WIDE : width >= CLOCK_MIN ? RIGHT : RIGHT_NARROW; }

int replay_line_bar(const struct replay_line *line, int width)
{
	int cells = width - left_cells(line, width) - right_cells(width) - 2;
	return !line->has_span || cells < 4 ? 0 : cells > REPLAY_COLUMNS_MAX ? REPLAY_COLUMNS_MAX : cells;
}

/* -- words -- */

static const char *format_speed(const struct replay_line *line, char out[NUMBER_SIZE])
{
	if (isinf(line->speed))
		snprintf(out, NUMBER_SIZE, "max");
	else
		snprintf(out, NUMBER_SIZE, "%.3gx", line->speed);
	return out;
}

const char *replay_line_state(const struct replay_line *line, char *out, size_t size)
{
	char speed[NUMBER_SIZE];
	switch (line->state) {
	case REPLAY_PAUSED: snprintf(out, size, "‖ paused"); break;
	case REPLAY_FOLLOWING: snprintf(out, size, "● following"); break;
	case REPLAY_SEEKING: snprintf(out, size, "» seeking %2.0f %%", floor(line->done_ratio * 100)); break;
	case REPLAY_ENDED: snprintf(out, size, "■ at the end"); break;
	case REPLAY_STILL: snprintf(out, size, "■ from a recording"); break;
	default: snprintf(out, size, "▸ replay %s", format_speed(line, speed)); break;
	}
	return out;
}

static void draw_right(const struct replay_line *line, struct canvas *canvas, struct rect rect)
{
	char text[NUMBER_SIZE];
	struct line words;
	line_start(&words, "  ");
	switch (line->state) {
	case REPLAY_PAUSED: line_add(&words, 0, ROLE_WARNING, "paused"); break;
	case REPLAY_FOLLOWING: line_add(&words, 0, ROLE_GOOD, "following"); break;
	case REPLAY_SEEKING: line_add(&words, 0, ROLE_ACCENT, "seeking %2.0f %%", floor(line->done_ratio * 100)); break;
	case REPLAY_ENDED: line_add(&words, 0, ROLE_STRONG, "end"); break;
	default: line_add(&words, 0, ROLE_STRONG, "%s", format_speed(line, text)); break;
	}
	if (line->lost_blocks > 0)
		line_add(&words, 1, ROLE_WARNING, rect.width >= RIGHT_WIDE ? "%s block%s lost" : "%s lost",
			format_count(text, (double)line->lost_blocks), line->lost_blocks == 1 ? "" : "s");
	if (line->flag_count > 0)
		line_add(&words, 2, ROLE_FLAG, "▲%s", format_count(text, (double)line->flag_count));
	line_draw(&words, canvas, rect.x, rect.y, rect.width);
}

static void draw_left(const struct replay_line *line, struct canvas *canvas, struct rect rect)
{
	time_t seconds = (time_t)((line->at_ns + line->realtime_offset_ns) / NS_PER_S);
	char text[NUMBER_SIZE], total[NUMBER_SIZE];
	struct tm parts;
	int digits;
	if (canvas->width >= CLOCK_MIN) {
		if (localtime_r(&seconds, &parts) != NULL && strftime(text, sizeof text, "%H:%M:%S", &parts) > 0)
			canvas_text(canvas, rect.x, rect.y, rect.width, ROLE_NORMAL, text);
		rect_take_left(&rect, CLOCK_CELLS + 2);
	}
	digits = format_elapsed(total, line->end_ns - line->begin_ns);
	format_elapsed(text, line->at_ns - line->begin_ns);
	if (line->has_span)
		canvas_printf(canvas, rect.x, rect.y, rect.width, ROLE_STRONG, "%*s / %s", digits, text, total);
	else
		canvas_text(canvas, rect.x, rect.y, rect.width, ROLE_STRONG, text);
}

/* -- the bar -- */

/* What a cell of the bar shows; later entries cover earlier ones. */
static const struct {
	uint32_t code, ascii;
	enum role role;
} signs[] = {
	{ 0x2588, '#', ROLE_ACCENT },  /* █ the current position */
	{ 0x00d7, 'x', ROLE_WARNING }, /* × lost */
	{ 0x25b2, '^', ROLE_FLAG },    /* ▲ */
	{ ' ', ' ', ROLE_NORMAL },     /* silent */
	{ 0x2501, '=', ROLE_ACCENT },  /* ━ before it */
	{ 0x2500, '-', ROLE_DIM },     /* ─ after it */
};

static size_t sign_of(const struct replay_line *line, int column, int cursor)
{
	const struct replay_column *shown = (size_t)column < line->column_count ? &line->columns[column] : NULL;
	if (column == cursor)
		return 0;
	if (shown && shown->is_lost)
		return 1;
	if (shown && (shown->is_flagged || shown->is_silent))
		return shown->is_flagged ? 2 : 3;
	return column < cursor ? 4 : 5;
}

static void draw_bar(const struct replay_line *line, struct canvas *canvas)
{
	double share = line->end_ns > line->begin_ns
		? (double)(line->at_ns - line->begin_ns) / (double)(line->end_ns - line->begin_ns)
		: 0;
	int cursor = (int)(fmax(fmin(share, 1), 0) * (double)line->bar.width);
	if (cursor >= line->bar.width)
		cursor = line->bar.width - 1;
	for (int column = 0; column < line->bar.width; column++) {
		size_t sign = sign_of(line, column, cursor);
		bool is_ascii = canvas->charset == CHARSET_ASCII;

		canvas_put(canvas, line->bar.x + column, line->bar.y, is_ascii ? signs[sign].ascii : signs[sign].code,
			signs[sign].role);
	}
}

/* -- the outline -- */

static void draw_outline(const struct replay_line *line, struct canvas *canvas, struct rect rect)
{
	double max = 0;
	char text[NUMBER_SIZE];
	for (size_t i = 0; i < line->column_count; i++)
		max = fmax(max, line->columns[i].step_s);
	if (max <= 0 || rect.height <= 0)
		return;
	canvas_printf(canvas, 1, rect.y, rect.x - 2, ROLE_DIM, canvas->width >= CLOCK_MIN ? "step time, to %s" : "to %s",
		format_seconds(text, max));
	for (size_t i = 0; i < line->column_count && (int)i < rect.width; i++) {
		double height = line->columns[i].step_s / max * (double)(rect.height * EIGHTHS);

		if (isnan(height))
			continue;
		for (int row = 0; row < rect.height; row++) {
			int eighths = (int)fmin(fmax(ceil(height) - row * EIGHTHS, 0), EIGHTHS);

			if (eighths > 0)
				canvas_put(
					canvas, rect.x + (int)i, rect.y + rect.height - 1 - row, (uint32_t)(0x2580 + eighths), ROLE_PLOT);
		}
	}
}

void replay_line_draw(struct replay_line *line, struct canvas *canvas, struct rect rect)
{
	struct rect row = rect_take_bottom(&rect, 1), left;
	int cells = replay_line_bar(line, canvas->width);
	rect_take_left(&row, 1);
	left = rect_take_left(&row, left_cells(line, canvas->width) - 1);
	draw_left(line, canvas, left);
	line->bar = rect_take_left(&row, cells);
	if (cells > 0) {
		draw_bar(line, canvas);
		draw_outline(line, canvas, (struct rect){ line->bar.x, rect.y, line->bar.width, rect.height });
		rect_take_left(&row, 2);
		/* The outline above the bar is clickable too. */
		line->bar.y = rect.y;
		line->bar.height += rect.height;
	}
	draw_right(line, canvas, row);
}

void replay_line_prompt(const struct replay_line *line, struct canvas *canvas, struct rect row)
{
	rect_take_left(&row, 1);
	rect_take_left(&row, canvas_printf(canvas, row.x, row.y, row.width, ROLE_STRONG, "go to: %s_", line->typed) + 3);
	canvas_text(canvas, row.x, row.y, row.width, ROLE_DIM,
		"14:02:30  0:05:00  5m  -5m  50%  #624 (batch)  @7 (epoch)  begin  end");
}

bool replay_line_hit(const struct replay_line *line, int x, int y, int64_t *time_ns)
{
	if (line->bar.width < 2 || !rect_has(line->bar, x, y))
		return false;
	*time_ns = line->begin_ns +
		(int64_t)((double)(line->end_ns - line->begin_ns) * (double)(x - line->bar.x) / (double)(line->bar.width - 1));
	return true;
}
