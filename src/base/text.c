#include "src/base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text_width.h"

enum { REPLACEMENT = 0xfffd };

static const char UNKNOWN[] = "–";

/* The length of a sequence that begins with `lead`, and the smallest code point that needs that length; 0: `lead`
 * begins no sequence. */
static size_t sequence_length(unsigned char lead, uint32_t *min)
{
	static const struct {
		unsigned char mask, bits;
		uint32_t min;
	} forms[] = {
		{ 0x80, 0x00, 0 },
		{ 0xe0, 0xc0, 0x80 },
		{ 0xf0, 0xe0, 0x800 },
		{ 0xf8, 0xf0, 0x10000 },
	};
	for (size_t i = 0; i < 4; i++)
		if ((lead & forms[i].mask) == forms[i].bits) {
			*min = forms[i].min;
			return i + 1;
		}
	return 0;
}

size_t utf8_decode(const char *text, size_t length, uint32_t *code)
{
	const unsigned char *bytes = (const unsigned char *)text;
	uint32_t min = 0;
	size_t used = sequence_length(bytes[0], &min);
	*code = REPLACEMENT;
	if (used == 0 || used > length)
		return 1;
	uint32_t value = used == 1 ? bytes[0] : bytes[0] & (0x7fu >> used);
	for (size_t i = 1; i < used; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 1;
		value = value << 6 | (bytes[i] & 0x3f);
	}
	if (value < min || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 1;
	*code = value;
	return used;
}

size_t utf8_encode(uint32_t code, char *out)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	size_t used = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	for (size_t i = used; i-- > 1; code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(leads[used] | code);
	return used;
}

/* Characters that are invisible or change how others look: C1 controls, direction and format controls (general category
 * Cf except visible signs such as the Arabic ones), fillers, line separators, tags. */
static bool is_hidden(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{ 0x80, 0x9f },
		{ 0xad, 0xad },
		{ 0x34f, 0x34f },
		{ 0x61c, 0x61c },
		{ 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 },
		{ 0x180e, 0x180e },
		{ 0x200b, 0x200f },
		{ 0x2028, 0x202e },
		{ 0x2060, 0x206f },
		{ 0x3164, 0x3164 },
		{ 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb },
		{ 0x13430, 0x1343f },
		{ 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a },
		{ 0xe0000, 0xe0fff },
	};
	for (size_t i = 0; i < sizeof hidden / sizeof hidden[0] && code >= hidden[i].first; i++)
		if (code <= hidden[i].last)
			return true;
	return false;
}

enum { VISIBLE_SIZE = 12 };

/* Writes `code` in a form that is safe to print; returns the length. */
static size_t make_visible(uint32_t code, char out[VISIBLE_SIZE])
{
	if (code >= 0x20 && code < 0x7f) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x20 || code == 0x7f) {
		out[0] = '^';
		out[1] = (char)(code ^ 0x40);
		return 2;
	}
	if (is_hidden(code))
		return (size_t)snprintf(out, VISIBLE_SIZE, "<U+%04X>", (unsigned)code);
	return utf8_encode(code, out);
}

size_t text_clean(char *out, size_t size, const char *text, size_t length)
{
	size_t written = 0;
	if (size == 0)
		return 0;
	while (length > 0) {
		uint32_t code;
		char visible[VISIBLE_SIZE];
		size_t used = utf8_decode(text, length, &code);
		size_t bytes = make_visible(code, visible);
		if (bytes > size - 1 - written)
			break;
		memcpy(out + written, visible, bytes);
		written += bytes;
		text += used;
		length -= used;
	}
	out[written] = '\0';
	return written;
}

const char *text_shell_word(char *out, size_t size, const char *word)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=@%+,-";
	size_t used = 0;
	bool is_safe = *word && strspn(word, safe) == strlen(word);
	const char *quote = is_safe ? "" : "'";
	int written = snprintf(out, size, "%s", quote);
	for (used = (size_t)written; *word && used < size; word++)
		used += (size_t)snprintf(out + used, size - used, *word == '\'' ? "'\\''" : "%c", *word);
	used += used < size ? (size_t)snprintf(out + used, size - used, "%s", quote) : 0;
	if (used >= size)
		out[0] = '\0';
	return out;
}

long text_count(const char *text)
{
	char *end;
	long count = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
	return count >= 0 && *end == '\0' ? count : -1;
}

size_t text_cells(const char *text)
{
	size_t cells = 0, length = strlen(text);
	while (length > 0) {
		uint32_t code;
		char visible[VISIBLE_SIZE];
		if (*text >= 0x20 && *text < 0x7f) {
			cells++;
			text++;
			length--;
			continue;
		}
		size_t used = utf8_decode(text, length, &code);
		size_t bytes = make_visible(code, visible);
		cells += visible[0] == '^' || visible[0] == '<' ? bytes : (size_t)utf8_cells(code);
		text += used;
		length -= used;
	}
	return cells;
}

size_t text_prefix(const char *text, size_t cells)
{
	size_t at = 0, length = strlen(text);
	while (at < length) {
		uint32_t code;
		size_t used = utf8_decode(text + at, length - at, &code), width = (size_t)utf8_cells(code);
		if (width > cells)
			break;
		cells -= width;
		at += used;
	}
	return at;
}

static const char *suffix(const char *text, size_t cells)
{
	while (*text && text_cells(text) > cells) {
		uint32_t code;
		text += utf8_decode(text, strlen(text), &code);
	}
	return text;
}

const char *text_shorten(char *out, size_t size, const char *text, size_t cells)
{
	size_t tail = cells ? (cells - 1) / 3 : 0;
	if (text_cells(text) <= cells)
		snprintf(out, size, "%s", text);
	else if (!cells)
		snprintf(out, size, "%s", "");
	else
		snprintf(out, size, "%.*s…%s", (int)text_prefix(text, cells - 1 - tail), text, suffix(text, tail));
	return out;
}

/* Three significant digits, so the width barely changes from 1.00 to 999. */
static int decimals_for(double value) { return value < 9.995 ? 2 : value < 99.95 ? 1 : 0; }

struct unit {
	double scale;
	const char *name;
};

/* Formats `value` in the first unit (sorted from small to large) in which it is below 1,000, else in the last. */
static const char *format_in_units(char out[NUMBER_SIZE], double value, const struct unit *units, size_t count)
{
	double size = fabs(value);
	size_t i = 0;
	while (i + 1 < count && size >= 999.5 * units[i].scale)
		i++;
	double scaled = size / units[i].scale;
	const char *sign = value < 0 ? "-" : "";
	if (scaled >= 999.5)
		snprintf(out, NUMBER_SIZE, "%s%.3g%s", sign, scaled, units[i].name);
	else
		snprintf(out, NUMBER_SIZE, "%s%.*f%s", sign, decimals_for(scaled), scaled, units[i].name);
	return out;
}

#define FORMAT_IN_UNITS(out, value, units) format_in_units(out, value, units, sizeof(units) / sizeof((units)[0]))

static const char *format_unknown(char out[NUMBER_SIZE])
{
	memcpy(out, UNKNOWN, sizeof UNKNOWN);
	return out;
}

static const char *format_long_time(char out[NUMBER_SIZE], const char *sign, double seconds)
{
	if (seconds < 3599.5) {
		int whole = (int)(seconds + 0.5);
		snprintf(out, NUMBER_SIZE, "%s%d:%02d", sign, whole / 60, whole % 60);
	} else if (seconds < 86400 - 30) {
		int minutes = (int)(seconds / 60 + 0.5);
		snprintf(out, NUMBER_SIZE, "%s%d h %02d", sign, minutes / 60, minutes % 60);
	} else if (seconds < 1e9 * 86400) {
		int64_t hours = (int64_t)(seconds / 3600 + 0.5);
		snprintf(out, NUMBER_SIZE, "%s%lld d %02d h", sign, (long long)(hours / 24), (int)(hours % 24));
	} else {
		snprintf(out, NUMBER_SIZE, "%s%.3g d", sign, seconds / 86400);
	}
	return out;
}

const char *format_seconds(char out[NUMBER_SIZE], double seconds)
{
	static const struct unit small[] = { { 1e-9, " ns" }, { 1e-6, " µs" }, { 1e-3, " ms" } };
	double size = fabs(seconds);
	const char *sign = seconds < 0 ? "-" : "";
	if (!isfinite(seconds))
		return format_unknown(out);
	if (size >= 59.95)
		return format_long_time(out, sign, size);
	if (size < 5e-12) /* what would read as 0.00 ns */
		snprintf(out, NUMBER_SIZE, "0 s");
	else if (size >= 0.09995)
		snprintf(out, NUMBER_SIZE, "%s%.*f s", sign, size < 9.9995 ? 3 : 1, size);
	else
		FORMAT_IN_UNITS(out, seconds, small);
	return out;
}

/* Three decimals would show 0.000. */
static bool reads_as_zero(double s) { return s != 0 && fabs(s) < 0.001; }

const char *format_brief_seconds(char out[NUMBER_SIZE], double s)
{
	if (!isfinite(s))
		return format_unknown(out);
	if (reads_as_zero(s))
		return format_seconds(out, s);
	snprintf(out, NUMBER_SIZE, fabs(s) < 1e12 ? "%.3fs" : "%.3gs", s);
	return out;
}

const char *format_fixed_seconds(char out[NUMBER_SIZE], double s)
{
	if (!isfinite(s))
		return format_unknown(out);
	if (reads_as_zero(s))
		return format_seconds(out, s);
	snprintf(out, NUMBER_SIZE, fabs(s) < 1e12 ? "%.3f s" : "%.3g s", s);
	return out;
}

const char *format_bytes(char out[NUMBER_SIZE], double bytes)
{
	static const struct unit units[] = { { 1, " B" }, { 1e3, " kB" }, { 1e6, " MB" }, { 1e9, " GB" }, { 1e12, " TB" },
		{ 1e15, " PB" }, { 1e18, " EB" } };
	if (!isfinite(bytes))
		return format_unknown(out);
	if (fabs(bytes) < 999.5)
		snprintf(out, NUMBER_SIZE, "%.0f B", rint(bytes) + 0.0);
	else
		FORMAT_IN_UNITS(out, bytes, units);
	return out;
}

static const struct unit plain_units[] = { { 1, "" }, { 1e3, "k" }, { 1e6, "M" }, { 1e9, "G" }, { 1e12, "T" },
	{ 1e15, "P" }, { 1e18, "E" } };

const char *format_count(char out[NUMBER_SIZE], double count)
{
	if (!isfinite(count))
		return format_unknown(out);
	if (fabs(count) < 9999.5 && (count == rint(count) || fabs(count) >= 999.5))
		snprintf(out, NUMBER_SIZE, "%.0f", count);
	else
		FORMAT_IN_UNITS(out, count, plain_units);
	return out;
}

const char *format_rate(char out[NUMBER_SIZE], double per_second)
{
	double size = fabs(per_second);
	if (!isfinite(per_second))
		return format_unknown(out);
	if (size > 0 && size < 0.01)
		snprintf(out, NUMBER_SIZE, "%.1g", per_second);
	else if (size < 9999.5)
		snprintf(out, NUMBER_SIZE, "%.*f", size == 0 || size >= 99.95 ? 0 : size < 0.995 ? 2 : 1, per_second);
	else
		FORMAT_IN_UNITS(out, per_second, plain_units);
	return out;
}

const char *format_percent(char out[NUMBER_SIZE], double ratio)
{
	double percent = ratio * 100, size = fabs(percent);
	if (!isfinite(ratio))
		return format_unknown(out);
	if (size > 0 && size < 0.05)
		snprintf(out, NUMBER_SIZE, percent < 0 ? ">-0.1 %%" : "<0.1 %%");
	else if (size > 0 && size < 0.95)
		snprintf(out, NUMBER_SIZE, "%.1f %%", percent);
	else
		snprintf(out, NUMBER_SIZE, size < 1e12 ? "%.0f %%" : "%.3g %%", percent);
	return out;
}

const char *format_watts(char out[NUMBER_SIZE], double watts)
{
	static const struct unit units[] = { { 1e-3, " mW" }, { 1, " W" }, { 1e3, " kW" }, { 1e6, " MW" } };
	if (!isfinite(watts))
		return format_unknown(out);
	return watts == 0 ? strcpy(out, "0 W") : FORMAT_IN_UNITS(out, watts, units);
}

const char *format_joules(char out[NUMBER_SIZE], double joules)
{
	static const struct unit units[] = { { 1e-6, " µJ" }, { 1e-3, " mJ" }, { 1, " J" }, { 1e3, " kJ" }, { 1e6, " MJ" },
		{ 1e9, " GJ" } };
	if (!isfinite(joules))
		return format_unknown(out);
	return joules == 0 ? strcpy(out, "0 J") : FORMAT_IN_UNITS(out, joules, units);
}

const char *format_hertz(char out[NUMBER_SIZE], double hertz)
{
	static const struct unit units[] = { { 1, " Hz" }, { 1e3, " kHz" }, { 1e6, " MHz" }, { 1e9, " GHz" } };
	if (!isfinite(hertz))
		return format_unknown(out);
	return FORMAT_IN_UNITS(out, hertz, units);
}

const char *format_celsius(char out[NUMBER_SIZE], double celsius)
{
	if (!isfinite(celsius))
		return format_unknown(out);
	snprintf(out, NUMBER_SIZE, fabs(celsius) < 1e12 ? "%.0f °C" : "%.3g °C", rint(celsius) + 0.0);
	return out;
}

const char *format_grouped(char out[NUMBER_SIZE], uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count), at = 0;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

bool text_ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);
	return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}
