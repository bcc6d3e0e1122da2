#include "src/base/formats/json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

struct range {
	uint32_t first, last;
};

/* C0 and C1 controls, line separators and Unicode's format characters (Cf), which are invisible or control a terminal.
 * Sorted. */
static const struct range escaped[] = {
	{ 0x0000, 0x001f },
	{ 0x007f, 0x009f },
	{ 0x00ad, 0x00ad },
	{ 0x0600, 0x0605 },
	{ 0x061c, 0x061c },
	{ 0x06dd, 0x06dd },
	{ 0x070f, 0x070f },
	{ 0x0890, 0x0891 },
	{ 0x08e2, 0x08e2 },
	{ 0x180e, 0x180e },
	{ 0x200b, 0x200f },
	{ 0x2028, 0x202e },
	{ 0x2060, 0x206f },
	{ 0xfeff, 0xfeff },
	{ 0xfff9, 0xfffb },
	{ 0x110bd, 0x110bd },
	{ 0x110cd, 0x110cd },
	{ 0x13430, 0x1343f },
	{ 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe007f },
};

static bool is_escaped(uint32_t code)
{
	for (size_t i = 0; i < sizeof escaped / sizeof escaped[0] && escaped[i].first <= code; i++)
		if (code <= escaped[i].last)
			return true;
	return false;
}

static void add_escape(struct buffer *out, uint32_t code)
{
	if (code > 0xffff)
		buffer_printf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((code - 0x10000) >> 10),
			0xdc00 + ((code - 0x10000) & 0x3ff));
	else
		buffer_printf(out, "\\u%04" PRIx32, code);
}

/* Length of the prefix that needs no escapes: for most strings, all of it. */
static size_t plain_length(const char *text)
{
	size_t length = 0;
	while (text[length] >= ' ' && text[length] < 0x7f && text[length] != '"' && text[length] != '\\')
		length++;
	return length;
}

static void add_text(struct buffer *out, const char *text)
{
	size_t length = strlen(text);
	buffer_puts(out, "\"");
	for (size_t i = 0; i < length;) {
		size_t plain = plain_length(text + i);
		buffer_add(out, text + i, plain);
		i += plain;
		if (i == length)
			break;
		uint32_t code;
		char bytes[4];
		i += utf8_decode(text + i, length - i, &code);
		if (code == '"' || code == '\\')
			buffer_puts(out, "\\");
		if (is_escaped(code))
			add_escape(out, code);
		else
			buffer_add(out, bytes, utf8_encode(code, bytes));
	}
	buffer_puts(out, "\"");
}

static void begin_value(struct json *json, const char *key)
{
	if (json->need_comma)
		buffer_puts(json->out, ",");
	if (key) {
		add_text(json->out, key);
		buffer_puts(json->out, ":");
	}
	json->need_comma = true;
}

static void open_with(struct json *json, const char *key, const char *bracket)
{
	begin_value(json, key);
	buffer_puts(json->out, bracket);
	json->need_comma = false;
}

static void close_with(struct json *json, const char *bracket)
{
	buffer_puts(json->out, bracket);
	json->need_comma = true;
}

void json_open_object(struct json *json, const char *key) { open_with(json, key, "{"); }
void json_close_object(struct json *json) { close_with(json, "}"); }
void json_open_array(struct json *json, const char *key) { open_with(json, key, "["); }
void json_close_array(struct json *json) { close_with(json, "]"); }

void json_text(struct json *json, const char *key, const char *value)
{
	if (!value)
		return;
	begin_value(json, key);
	add_text(json->out, value);
}

void json_number(struct json *json, const char *key, double value)
{
	if (!isfinite(value))
		return;
	char text[32];
	int length = snprintf(text, sizeof text, "%.12g", value);
	begin_value(json, key);
	buffer_add(json->out, text, (size_t)length);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
	begin_value(json, key);
	buffer_printf(json->out, "%" PRId64, value);
}

void json_unsigned(struct json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	buffer_printf(json->out, "%" PRIu64, value);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	buffer_puts(json->out, value ? "true" : "false");
}

size_t json_cut(const struct json *json, size_t count)
{
	return json->rows_max && count > json->rows_max ? count - json->rows_max : 0;
}

void json_left_out(struct json *json, const char *key, size_t count)
{
	if (count)
		json_unsigned(json, key, count);
}
