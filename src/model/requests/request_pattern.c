#include "src/model/requests/request_pattern.h"

#include <ctype.h>
#include <string.h>

#include "src/model/requests/requests.h"

static size_t word_length(const char *text)
{
	size_t length = 0;
	while (isalnum((unsigned char)text[length]))
		length++;
	return length;
}

/* 8-4-4-4-12 hexadecimal digits. */
static bool is_uuid(const char *text)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
		if (strspn(text, "0123456789abcdefABCDEF") != groups[i])
			return false;
		text += groups[i];
		if (i < 4 && *text++ != '-')
			return false;
	}
	return !isalnum((unsigned char)*text);
}

static bool is_number(const char *text, size_t length) { return length > 0 && strspn(text, "0123456789") >= length; }

static bool is_hex(const char *text, size_t length)
{
	size_t from = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 2 : 0;
	return (from || length >= 8) && strspn(text + from, "0123456789abcdefABCDEF") >= length - from &&
		(from || strcspn(text, "0123456789") < length);
}

void request_pattern(char *out, size_t size, const char *name)
{
	enum { UUID_LENGTH = 36 };
	size_t at = 0;
	while (*name && at + 1 < size) {
		size_t length = word_length(name);
		if (is_uuid(name) || is_number(name, length) || is_hex(name, length)) {
			out[at++] = '*';
			name += is_uuid(name) ? UUID_LENGTH : length;
			continue;
		}
		for (length += length == 0; length > 0 && at + 1 < size; length--)
			out[at++] = *name++;
	}
	/* Drop a UTF-8 sequence that was cut. */
	size_t begin = at;
	while (begin > 0 && ((unsigned char)out[begin - 1] & 0xc0) == 0x80)
		begin--;
	if (begin > 0 && ((unsigned char)*name & 0xc0) == 0x80)
		at = begin - 1;
	out[at] = '\0';
}
