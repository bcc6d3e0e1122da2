#include "src/compare/page.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/base/text_width.h"

static size_t fitting(const char *text, size_t cells)
{
	size_t length = strlen(text), at = 0, used = 0;
	while (at < length) {
		uint32_t code;
		size_t bytes = utf8_decode(text + at, length - at, &code);
		used += (size_t)utf8_cells(code);
		if (used > cells)
			break;
		at += bytes;
	}
	return at;
}

void page_left(struct buffer *out, int cells, const char *text)
{
	size_t room = cells > 0 ? (size_t)cells : 0, wide = text_cells(text);
	if (wide > room) {
		size_t retained = fitting(text, room ? room - 1 : 0);
		buffer_add(out, text, retained);
		buffer_puts(out, room ? "…" : "");
		return;
	}
	buffer_puts(out, text);
	buffer_printf(out, "%*s", (int)(room - wide), "");
}

void page_right(struct buffer *out, int cells, const char *text)
{
	int used = (int)text_cells(text);
	buffer_printf(out, "%*s%s", used < cells ? cells - used : 0, "", text);
}

void page_wrap(struct buffer *out, int width, int indent, const char *text)
{
	int used = 0;
	for (const char *word = text; *word;) {
		char one[256];
		size_t length = strcspn(word, " ");
		snprintf(one, sizeof one, "%.*s", (int)length, word);
		int cells = (int)text_cells(one);
		if (used && used + 1 + cells > width) {
			buffer_printf(out, "\n%*s", indent, "");
			used = indent;
		} else if (used) {
			buffer_puts(out, " ");
			used++;
		}
		buffer_puts(out, one);
		used += cells;
		word += length;
		word += strspn(word, " ");
	}
	buffer_puts(out, "\n");
}

void page_title(struct buffer *out, const char *title, bool has_color)
{
	buffer_printf(out, has_color ? "\033[1m%s\033[0m\n" : "%s\n", title);
}

void page_verdict(struct buffer *out, enum verdict verdict, bool has_color)
{
	static const char *const colors[] = { [VERDICT_FASTER] = "32",
		[VERDICT_LESS] = "32",
		[VERDICT_SLOWER] = "31",
		[VERDICT_MORE] = "33",
		[VERDICT_UNCLEAR] = "33" };
	const char *color = (size_t)verdict < sizeof colors / sizeof *colors ? colors[verdict] : NULL;
	if (has_color && color)
		buffer_printf(out, "\033[%sm%s\033[0m", color, verdict_word(verdict));
	else
		buffer_puts(out, verdict_word(verdict));
}

struct scale {
	double from, size;
	const char *unit;
};
static const struct scale joules[] = { { 1e9, 1e9, " GJ" }, { 1e6, 1e6, " MJ" }, { 1e3, 1e3, " kJ" }, { 1, 1, " J" },
	{ 0, 1e-3, " mJ" } };
static const struct scale flops[] = { { 1e15, 1e15, " PFLOP/s" }, { 1e12, 1e12, " TFLOP/s" }, { 1e9, 1e9, " GFLOP/s" },
	{ 1e6, 1e6, " MFLOP/s" }, { 0, 1, " FLOP/s" } };

/* Three significant digits, in the largest unit that is not above the value. */
static void put_scaled(char out[PAGE_VALUE], const struct scale *scale, double value)
{
	if (!isfinite(value)) {
		snprintf(out, PAGE_VALUE, "–");
		return;
	}
	while (scale->from > fabs(value))
		scale++;
	double number = value / scale->size;
	snprintf(out, PAGE_VALUE, "%.*f%s", fabs(number) < 9.995 ? 2 : fabs(number) < 99.95 ? 1 : 0, number, scale->unit);
}

const char *page_value(char out[PAGE_VALUE], enum row_unit unit, double value)
{
	char number[NUMBER_SIZE];
	switch (unit) {
	case ROW_SECONDS:
		snprintf(out, PAGE_VALUE, "%s", value > -1e-15 && value < 1e-15 ? "0" : format_seconds(number, value));
		break;
	case ROW_BYTES: snprintf(out, PAGE_VALUE, "%s%s", value < 0 ? "−" : "", format_bytes(number, fabs(value))); break;
	case ROW_PER_SECOND: snprintf(out, PAGE_VALUE, isfinite(value) ? "%s/s" : "%s", format_rate(number, value)); break;
	case ROW_RATIO: snprintf(out, PAGE_VALUE, "%s", format_percent(number, value)); break;
	case ROW_JOULES: put_scaled(out, joules, value); break;
	case ROW_FLOPS: put_scaled(out, flops, value); break;
	default: snprintf(out, PAGE_VALUE, isfinite(value) ? "%.4g" : "–", value);
	}
	return out;
}

const char *page_change(char out[PAGE_VALUE], double seconds)
{
	char number[NUMBER_SIZE];
	if (!isfinite(seconds))
		snprintf(out, PAGE_VALUE, "–");
	else if (fabs(seconds) < 5e-8)
		snprintf(out, PAGE_VALUE, "0");
	else
		snprintf(out, PAGE_VALUE, "%s%s", seconds > 0 ? "+" : "−", format_seconds(number, fabs(seconds)));
	return out;
}
