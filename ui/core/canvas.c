#include "ui/core/canvas.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/base/text_width.h"

static const struct cell BLANK = { ' ', ROLE_NORMAL, 0 };

/* Larger than any terminal; keeps width × height far from overflow. */
enum { SIZE_LIMIT = 1 << 14 };

static int clamp(int value, int min, int max) { return value < min ? min : value > max ? max : value; }

/* The part of `rect` inside `bounds`, whatever the numbers in `rect`. */
static struct rect intersect(struct rect rect, struct rect bounds)
{
	int64_t right = (int64_t)rect.x + (rect.width > 0 ? rect.width : 0),
			below = (int64_t)rect.y + (rect.height > 0 ? rect.height : 0);
	int right_max = bounds.x + bounds.width, below_max = bounds.y + bounds.height;
	int x = clamp(rect.x, bounds.x, right_max), y = clamp(rect.y, bounds.y, below_max);
	int x_end = right < x ? x : right > right_max ? right_max : (int)right;
	int y_end = below < y ? y : below > below_max ? below_max : (int)below;
	return (struct rect){ x, y, x_end - x, y_end - y };
}

static struct rect whole(const struct canvas *canvas) { return (struct rect){ 0, 0, canvas->width, canvas->height }; }

bool canvas_resize(struct canvas *canvas, int width, int height)
{
	width = clamp(width, 1, SIZE_LIMIT);
	height = clamp(height, 1, SIZE_LIMIT);
	struct cell *cells = realloc(canvas->cells, (size_t)width * (size_t)height * sizeof *cells);
	if (!cells)
		return false;
	canvas->cells = cells;
	canvas->width = width;
	canvas->height = height;
	canvas_unclip(canvas);
	canvas_clear(canvas);
	return true;
}

void canvas_release(struct canvas *canvas)
{
	free(canvas->cells);
	*canvas = (struct canvas){ 0 };
}

void canvas_clear(struct canvas *canvas)
{
	canvas->painter = NULL;
	size_t width = (size_t)canvas->width;
	for (size_t i = 0; i < width; i++)
		canvas->cells[i] = BLANK;
	for (size_t y = 1; y < (size_t)canvas->height; y++)
		memcpy(canvas->cells + y * width, canvas->cells, width * sizeof BLANK);
}

void canvas_clip(struct canvas *canvas, struct rect clip) { canvas->clip = intersect(clip, whole(canvas)); }

void canvas_unclip(struct canvas *canvas) { canvas->clip = whole(canvas); }

/* The ASCII substitute of a character. */
uint32_t canvas_ascii_like(uint32_t code)
{
	static const struct {
		uint32_t first, last;
		const char *like;
	} likes[] = {
		{ 0xa0, 0xbf, " ?c###|?\"c?<--r-o~23'uP.?1?>????" },
		{ 0xc0, 0xff, "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYTsaaaaaaaceeeeiiiidnooooo/ouuuuyty" },
		{ 0x2010, 0x2017, "------|_" },
		{ 0x2018, 0x201f, "''''\"\"\"\"" },
		{ 0x2022, 0x2027, "*>..~." },
		{ 0x202f, 0x202f, " " },
		{ 0x2039, 0x203a, "<>" },
		{ 0x2190, 0x2195, "<^>v-|" },
		{ 0x2212, 0x2212, "-" },
		{ 0x2248, 0x2248, "~" },
		{ 0x2260, 0x2265, "!=~~<>" },
		{ 0x2500, 0x250b, "--||--||--||" },
		{ 0x254c, 0x254f, "--||" },
		{ 0x2550, 0x2551, "=|" },
		{ 0x256d, 0x2573, "++++/\\x" },
		{ 0x2574, 0x257f, "-|-|-|-|-|-|" },
		{ 0x2580, 0x258f, "*..--+*########|" },
		{ 0x2590, 0x2595, "#.+*-|" },
		{ 0x2596, 0x259f, "..*####*##" },
		{ 0x25a0, 0x25a1, "#o" },
		{ 0x25b2, 0x25c5, "^^^^>>>>>>vvvv<<<<<<" },
		{ 0x25c6, 0x25c7, "**" },
		{ 0x25cb, 0x25cf, "oooo*" },
		{ 0x26a0, 0x26a0, "!" },
		{ 0x2713, 0x2718, "++xxxx" },
		{ 0x2237, 0x2237, ":" },
	};
	if (code < 0x80)
		return code;
	for (size_t i = 0; i < sizeof likes / sizeof likes[0]; i++)
		if (code >= likes[i].first && code <= likes[i].last)
			return (unsigned char)likes[i].like[code - likes[i].first];
	if (code >= 0x2500 && code <= 0x257f)
		return '+';
	if (code >= 0x2800 && code <= 0x28ff)
		return (unsigned char)" ..++**##"[__builtin_popcount(code & 0xff)];
	return '?';
}

/* Whether text_clean would leave the code point unchanged. The first test answers for most characters. */
static bool is_printable(uint32_t code)
{
	if ((code >= 0x20 && code < 0x7f) || (code >= 0x2500 && code < 0x2900))
		return true;
	char bytes[4], clean[16];
	if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return false;
	size_t length = utf8_encode(code, bytes);
	return text_clean(clean, sizeof clean, bytes, length) == length && memcmp(bytes, clean, length) == 0 &&
		utf8_cells(code) > 0;
}

static bool is_in_clip(const struct canvas *canvas, int64_t x, int64_t y)
{
	const struct rect *clip = &canvas->clip;
	return x >= clip->x && x < (int64_t)clip->x + clip->width && y >= clip->y && y < (int64_t)clip->y + clip->height;
}

/* The row in which the caller fills cells x … end − 1. A wide character that is cut in half leaves a blank. */
static inline struct cell *row_to_fill(struct canvas *canvas, int x, int end, int y)
{
	struct cell *row = canvas->cells + (size_t)y * (size_t)canvas->width;
	if (row[x].code == 0 && x > 0)
		row[x - 1].code = ' ';
	if (end < canvas->width && row[end].code == 0)
		row[end].code = ' ';
	return row;
}

static inline void set_cell(struct canvas *canvas, int x, int y, uint32_t code, enum role role)
{
	row_to_fill(canvas, x, x + 1, y)[x] = (struct cell){ code, (uint16_t)role, 0 };
}

/* `x` may lie outside the canvas. A wide character with only one half inside becomes a blank. */
static void put(struct canvas *canvas, int64_t x, int64_t y, uint32_t code, int cells, enum role role)
{
	bool left = is_in_clip(canvas, x, y);
	if (canvas->charset == CHARSET_ASCII)
		code = canvas_ascii_like(code);
	if (cells == 1) {
		if (left)
			set_cell(canvas, (int)x, (int)y, code, role);
		return;
	}
	bool right = cells == 2 && is_in_clip(canvas, x + 1, y);
	uint32_t tail = code < 0x80 ? code : 0;
	if (cells == 2 && !(left && right))
		code = tail = ' ';
	if (left)
		set_cell(canvas, (int)x, (int)y, code, role);
	if (right) {
		set_cell(canvas, (int)x + 1, (int)y, ' ', role);
		canvas->cells[(size_t)y * (size_t)canvas->width + (size_t)x + 1].code = tail;
	}
}

/* Characters that take one cell in every charset except ASCII. */
static bool is_line_or_dots(uint32_t code)
{
	return (code >= 0x2500 && code < 0x25fd) || (code >= 0x2800 && code < 0x2900);
}

void canvas_put(struct canvas *canvas, int x, int y, uint32_t code, enum role role)
{
	if (is_line_or_dots(code) && canvas->charset != CHARSET_ASCII) {
		if (is_in_clip(canvas, x, y))
			set_cell(canvas, x, y, code, role);
		return;
	}
	if (!is_printable(code))
		code = 0xfffd;
	put(canvas, x, y, code, utf8_cells(code), role);
}

/* Reads a text as the characters that a cell may show. */
struct reader {
	const char *rest;
	size_t length;
	char marks[16]; /* text_clean's replacement of the last code point */
	size_t at, count;
};
static struct reader reader_of(const char *text) { return (struct reader){ .rest = text, .length = strlen(text) }; }

/* Printable ASCII takes one cell and needs no cleaning. */
static bool is_plain(char byte) { return byte >= 0x20 && byte < 0x7f; }

/* Latin letters, "·", "×" and "µ", arrows, and the characters of plots need no cleaning either. */
static bool is_single_cell(uint32_t code)
{
	return (code > 0xad && code < 0x300) || (code >= 0x2190 && code < 0x2200) || is_line_or_dots(code);
}

/* The next character that takes a cell; false at the end. Combining characters have no cell and are skipped. */
static bool next_character(struct reader *reader, uint32_t *code, int *cells)
{
	if (reader->at >= reader->count && reader->length > 0 && is_plain(*reader->rest)) {
		*code = (unsigned char)*reader->rest++;
		*cells = 1;
		reader->length--;
		return true;
	}
	do {
		if (reader->at >= reader->count) {
			if (reader->length == 0)
				return false;
			size_t used = utf8_decode(reader->rest, reader->length, code);
			if (is_single_cell(*code)) {
				*cells = 1;
				reader->rest += used;
				reader->length -= used;
				return true;
			}
			reader->count = text_clean(reader->marks, sizeof reader->marks, reader->rest, used);
			reader->at = 0;
			reader->rest += used;
			reader->length -= used;
		}
		reader->at += utf8_decode(reader->marks + reader->at, reader->count - reader->at, code);
		*cells = utf8_cells(*code);
	} while (*cells == 0);
	return true;
}

/* How much of a text to draw: its first `cells` cells, then "…" if has_mark. */
struct cut {
	int cells;
	bool has_mark;
};

static bool is_gap(uint32_t code) { return code == ' ' || code == 0xb7; }

static bool is_number_part(uint32_t code) { return (code >= '0' && code <= '9') || code == '.' || code == ','; }

/* Where to cut a first word that is longer than `width`, "…" included. Never inside a number: it would read as
 * another number. */
static struct cut cut_word(const char *text, int width)
{
	struct reader reader = reader_of(text);
	struct cut cut = { 0, true };
	int used = 0, cells;
	bool in_number = false;
	uint32_t code;
	while (next_character(&reader, &code, &cells)) {
		if (!(in_number && is_number_part(code)))
			cut.cells = used;
		in_number = is_number_part(code);
		if (used + cells > width - 1)
			break;
		used += cells;
	}
	return cut;
}

static struct cut cut_text(const char *text, int width)
{
	struct reader reader = reader_of(text);
	int used = 0, word = 0, words = 0, cells;
	bool in_gap = true;
	uint32_t code;
	if (width <= 0)
		return (struct cut){ 0, false };
	while (is_plain(text[used]) && used < width)
		used++;
	if (!text[used])
		return (struct cut){ used, false };
	used = 0;
	while (next_character(&reader, &code, &cells)) {
		if (is_gap(code) && !in_gap)
			word = used;
		/* "100 %" counts as one word. */
		if (!is_gap(code) && in_gap && code != '%')
			words = word;
		in_gap = is_gap(code);
		if (used + cells > width && !in_gap)
			return words > 0 ? (struct cut){ words, false } : cut_word(text, width);
		used += cells;
	}
	return used <= width ? (struct cut){ used, false } : (struct cut){ word, false };
}

/* Draws the ASCII beginning of a text; returns its length. */
static int draw_plain(struct canvas *canvas, int64_t x, int y, int max, enum role role, const char *text)
{
	int count = 0;
	while (count < max && is_plain(text[count]))
		count++;
	struct rect part = intersect((struct rect){ (int)x, y, count, 1 }, canvas->clip);
	if (x != (int)x || part.width == 0 || part.height == 0)
		return x == (int)x ? count : 0;
	struct cell *row = row_to_fill(canvas, part.x, part.x + part.width, y);
	for (int i = part.x; i < part.x + part.width; i++)
		row[i] = (struct cell){ (unsigned char)text[i - (int)x], (uint16_t)role, 0 };
	return count;
}

static int draw_cut(struct canvas *canvas, int64_t x, int y, struct cut cut, enum role role, const char *text)
{
	int used = draw_plain(canvas, x, y, cut.cells, role, text), cells;
	struct reader reader = reader_of(text + used);
	uint32_t code;
	while (used < cut.cells && next_character(&reader, &code, &cells)) {
		put(canvas, x + used, y, code, cells, role);
		used += cells;
	}
	if (cut.has_mark)
		put(canvas, x + used++, y, 0x2026, 1, role);
	return used;
}

int canvas_text(struct canvas *canvas, int x, int y, int width, enum role role, const char *text)
{
	return draw_cut(canvas, x, y, cut_text(text, width), role, text);
}

int canvas_text_right(struct canvas *canvas, int x, int y, int width, enum role role, const char *text)
{
	struct cut cut = cut_text(text, width);
	return draw_cut(canvas, (int64_t)x + width - cut.cells - cut.has_mark, y, cut, role, text);
}

int canvas_printf(struct canvas *canvas, int x, int y, int width, enum role role, const char *format, ...)
{
	char text[2048];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return canvas_text(canvas, x, y, width, role, text);
}

/* Doubles the filled part by memcpy: a frame begins with many blanks. */
static void fill_cells(struct cell *cells, size_t count, struct cell cell)
{
	cells[0] = cell;
	for (size_t filled = 1; filled < count;) {
		size_t more = filled < count - filled ? filled : count - filled;
		memcpy(cells + filled, cells, more * sizeof *cells);
		filled += more;
	}
}

void canvas_fill(struct canvas *canvas, struct rect rect, uint32_t code, enum role role)
{
	struct rect part = intersect(rect, canvas->clip);
	if (!is_printable(code))
		code = 0xfffd;
	int cells = utf8_cells(code), end = part.x + part.width;
	uint32_t shown = canvas->charset == CHARSET_ASCII ? canvas_ascii_like(code) : code;
	for (int y = part.y; y < part.y + part.height && part.width > 0; y++) {
		struct cell *row = cells == 1 ? row_to_fill(canvas, part.x, end, y) : NULL;
		if (row)
			fill_cells(row + part.x, (size_t)part.width, (struct cell){ shown, (uint16_t)role, 0 });
		for (int x = part.x; !row && x < end; x++)
			put(canvas, x, y, code, cells, role);
	}
}

void canvas_reverse(struct canvas *canvas, struct rect rect)
{
	struct rect part = intersect(rect, canvas->clip);
	for (int y = part.y; y < part.y + part.height; y++)
		for (int x = part.x; x < part.x + part.width; x++)
			canvas->cells[(size_t)y * (size_t)canvas->width + (size_t)x].reverse = 1;
}

/* "─ title ──── right ─" over `width` cells. The right title gets the room that the left one leaves. */
static void draw_edge(
	struct canvas *canvas, int x, int y, int width, const char *title, const char *right, enum role title_role)
{
	enum { BATCH_WINDOW = 4 }; /* a line and a blank on either side */
	int used = 0;
	canvas_fill(canvas, (struct rect){ x, y, width, 1 }, 0x2500, ROLE_BORDER);
	if (title && width > BATCH_WINDOW) {
		used = canvas_text(canvas, x + 2, y, width - BATCH_WINDOW, title_role, title);
		canvas_put(canvas, x + 1, y, ' ', title_role);
		canvas_put(canvas, x + 2 + used, y, ' ', title_role);
		used += 3;
	}
	int room = width - used - BATCH_WINDOW;
	if (right && room > 0) {
		int cells = canvas_text_right(canvas, x + width - 2 - room, y, room, ROLE_DIM, right);
		if (cells > 0) {
			canvas_put(canvas, x + width - 2, y, ' ', ROLE_DIM);
			canvas_put(canvas, x + width - 3 - cells, y, ' ', ROLE_DIM);
		}
	}
}

struct rect canvas_rule(
	struct canvas *canvas, struct rect rect, const char *title, const char *right, enum role title_role)
{
	draw_edge(canvas, rect.x, rect.y, rect.width, title, right, title_role);
	return (struct rect){ rect.x, rect.y + 1, rect.width, rect.height > 0 ? rect.height - 1 : 0 };
}

struct rect canvas_box(
	struct canvas *canvas, struct rect rect, const char *title, const char *right, enum role title_role)
{
	if (rect.height <= 1 || rect.width < 4)
		return canvas_rule(canvas, rect, title, right, title_role);
	int last_x = rect.x + rect.width - 1, last_y = rect.y + rect.height - 1;
	draw_edge(canvas, rect.x + 1, rect.y, rect.width - 2, title, right, title_role);
	canvas_fill(canvas, (struct rect){ rect.x + 1, last_y, rect.width - 2, 1 }, 0x2500, ROLE_BORDER);
	canvas_fill(canvas, (struct rect){ rect.x, rect.y + 1, 1, rect.height - 2 }, 0x2502, ROLE_BORDER);
	canvas_fill(canvas, (struct rect){ last_x, rect.y + 1, 1, rect.height - 2 }, 0x2502, ROLE_BORDER);
	canvas_put(canvas, rect.x, rect.y, 0x256d, ROLE_BORDER);
	canvas_put(canvas, last_x, rect.y, 0x256e, ROLE_BORDER);
	canvas_put(canvas, rect.x, last_y, 0x2570, ROLE_BORDER);
	canvas_put(canvas, last_x, last_y, 0x256f, ROLE_BORDER);
	return (struct rect){ rect.x + 1, rect.y + 1, rect.width - 2, rect.height - 2 };
}

void canvas_bar(struct canvas *canvas, int x, int y, int width, double ratio, enum role role)
{
	if (!(ratio > 0) || width <= 0)
		return;
	double filled = (ratio < 1 ? ratio : 1) * width * 8;
	int eighths = filled < 1 ? 1 : (int)lrint(filled);
	int full = eighths / 8, rest = eighths % 8;
	canvas_fill(canvas, (struct rect){ x, y, full, 1 }, 0x2588, role);
	if (rest == 0)
		return;
	if (canvas->charset == CHARSET_ASCII)
		canvas_put(canvas, x + full, y, rest >= 4 ? '#' : full == 0 ? '-' : ' ', role);
	else
		canvas_put(canvas, x + full, y, 0x2590 - (uint32_t)rest, role);
}
