#include "src/sources/python/py_code.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/sources/python/remote.h"

/* TEXT_MAX: four bytes per character of the longest stored text. */
enum { TEXT_MAX = 4 * PY_FILE_SIZE, CHARACTERS_MAX = 1 << 16, CODE_MAX = 1024, NO_LINE = -128 };

static uint64_t word_at(const unsigned char *bytes, uint32_t offset)
{
	uint64_t word;
	memcpy(&word, bytes + offset, sizeof word);
	return word;
}

/* -- texts -- */

/* The state of a str (Include/cpython/unicodeobject.h): its interning takes two bits, in a free-threaded 3.14 a
 * byte. */
struct text_state {
	unsigned width;
	bool is_compact, is_ascii;
};

static struct text_state state_of(const struct py_layout *layout, uint32_t bits)
{
	unsigned shift = layout->is_free_threaded && layout->minor >= 14 ? 8 : 2;
	return (struct text_state){
		.width = bits >> shift & 7, .is_compact = bits >> (shift + 3) & 1, .is_ascii = bits >> (shift + 4) & 1
	};
}

static uint32_t character(const unsigned char *bytes, unsigned width)
{
	uint16_t two;
	uint32_t four;
	if (width == 1)
		return *bytes;
	if (width == 2) {
		memcpy(&two, bytes, sizeof two);
		return two;
	}
	memcpy(&four, bytes, sizeof four);
	return four;
}

/* Of a text that is too long, the end. */
static bool read_text(pid_t pid, const struct py_layout *layout, uint64_t address, char *out, size_t size)
{
	unsigned char head[64], bytes[TEXT_MAX];
	char text[TEXT_MAX];
	size_t length = 0;
	if (!remote_read(pid, address, head, sizeof head))
		return false;
	uint64_t count = word_at(head, layout->object_size);
	uint32_t bits;
	memcpy(&bits, head + layout->object_size + 16, sizeof bits);
	struct text_state state = state_of(layout, bits);
	if (!state.is_compact || count == 0 || count > CHARACTERS_MAX ||
		(state.width != 1 && state.width != 2 && state.width != 4))
		return false;
	uint64_t skipped = count >= size ? count - size + 1 : 0;
	count -= skipped;
	address += state.is_ascii ? layout->text_ascii : layout->text_other;
	if (count * state.width > sizeof bytes ||
		!remote_read(pid, address + skipped * state.width, bytes, count * state.width))
		return false;
	for (uint64_t i = 0; i < count && length + 4 <= sizeof text; i++)
		length += utf8_encode(character(bytes + i * state.width, state.width), text + length);
	return text_clean(out, size, text, length) > 0;
}

/* -- lines -- */

/* Lines are summed in 64 bits: the table is untrusted, and PY_LINES_MAX bytes of it cannot overflow that. */
static int64_t line_in_pairs(const unsigned char *table, size_t size, int64_t line, int64_t offset)
{
	int64_t at = 0;
	for (size_t i = 0; i + 1 < size; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += (signed char)table[i + 1];
	}
	return line;
}

static int64_t line_in_ranges(const unsigned char *table, size_t size, int64_t line, int64_t offset)
{
	int64_t at = 0;
	for (size_t i = 0; i + 1 < size; i += 2) {
		int step = (signed char)table[i + 1];
		line += step == NO_LINE ? 0 : step;
		if (offset < at + table[i])
			return step == NO_LINE ? 0 : line;
		at += table[i];
	}
	return 0;
}

struct cursor {
	const unsigned char *at, *end;
};

static uint32_t next_number(struct cursor *cursor)
{
	uint32_t value = 0;
	for (unsigned shift = 0; cursor->at < cursor->end && shift < 30; shift += 6) {
		unsigned char byte = *cursor->at++;
		value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value;
}

static int next_signed(struct cursor *cursor)
{
	uint32_t value = next_number(cursor);
	return value & 1 ? -(int)(value >> 1) : (int)(value >> 1);
}

static void skip(struct cursor *cursor, size_t bytes)
{
	cursor->at = (size_t)(cursor->end - cursor->at) < bytes ? cursor->end : cursor->at + bytes;
}

static int64_t line_in_locations(const unsigned char *table, size_t size, int64_t line, int64_t offset)
{
	enum { SHORT_MAX = 9, ONE_LINE_FIRST = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14 };
	struct cursor cursor = { table, table + size };
	int64_t at = 0;
	while (cursor.at < cursor.end) {
		unsigned char head = *cursor.at++;
		unsigned kind = head >> 3 & 15;
		bool has_line = true;
		if (kind <= SHORT_MAX) {
			skip(&cursor, 1);
		} else if (kind <= ONE_LINE_LAST) {
			line += (int)(kind - ONE_LINE_FIRST);
			skip(&cursor, 2);
		} else if (kind == NO_COLUMNS || kind == LONG) {
			line += next_signed(&cursor);
			for (unsigned i = 0; kind == LONG && i < 3; i++)
				next_number(&cursor);
		} else {
			has_line = false;
		}
		at += ((head & 7) + 1) * 2;
		if (offset < at)
			return has_line ? line : 0;
	}
	return 0;
}

int py_line_at(enum py_line_table format, const unsigned char *table, size_t size, int first_line, int64_t offset)
{
	static int64_t (*const line_in[])(const unsigned char *table, size_t size, int64_t line, int64_t offset) = {
		[PY_LINES_PAIRS] = line_in_pairs,
		[PY_LINES_RANGES] = line_in_ranges,
		[PY_LINES_LOCATIONS] = line_in_locations,
	};
	int64_t line = offset < 0 ? first_line : line_in[format](table, size, first_line, offset);
	return line > 0 && line <= INT_MAX ? (int)line : 0;
}

/* -- the object -- */

static bool read_table(pid_t pid, const struct py_layout *layout, uint64_t address, struct py_code *code)
{
	uint64_t size;
	if (!remote_word(pid, address + layout->object_size, &size) || size > PY_LINES_MAX)
		return false;
	unsigned char *table = malloc(size + 1);
	if (!table || !remote_read(pid, address + layout->object_size + 16, table, size)) {
		free(table);
		return false;
	}
	code->table = table;
	code->table_size = size;
	return true;
}

static bool find_bytes(
	pid_t pid, const struct py_layout *layout, uint64_t address, const unsigned char *object, struct py_code *code)
{
	if (layout->ip != PY_IP_ADDRESS) /* a bytes object of its own */
		return remote_word(pid, word_at(object, layout->code_bytes) + layout->object_size, &code->byte_count);
	code->bytes = address + layout->code_bytes;
	code->byte_count = 2 * word_at(object, layout->object_size);
	uint64_t copies = layout->code_copies != PY_NOWHERE ? word_at(object, layout->code_copies) : 0, count = 0;
	if (copies && remote_word(pid, copies, &count)) {
		code->copy_count = count < PY_COPIES_MAX ? count : PY_COPIES_MAX;
		if (!remote_read(pid, copies + 8, code->copies, code->copy_count * sizeof *code->copies))
			code->copy_count = 0;
	}
	return true;
}

bool py_code_read(pid_t pid, const struct py_location *location, uint64_t address, struct py_code *out)
{
	const struct py_layout *layout = &location->layout;
	unsigned char object[CODE_MAX];
	uint32_t name = layout->code_qualname != PY_NOWHERE ? layout->code_qualname : layout->code_name;
	*out = (struct py_code){ .table = NULL };
	if (layout->code_size > sizeof object || !remote_read(pid, address, object, layout->code_size) ||
		word_at(object, layout->object_type) != location->code_type)
		return false;
	memcpy(&out->first_line, object + layout->code_first_line, sizeof out->first_line);
	return read_text(pid, layout, word_at(object, layout->code_file), out->file, sizeof out->file) &&
		read_text(pid, layout, word_at(object, name), out->function, sizeof out->function) &&
		find_bytes(pid, layout, address, object, out) &&
		read_table(pid, layout, word_at(object, layout->code_lines), out);
}

void py_code_release(struct py_code *code)
{
	free(code->table);
	code->table = NULL;
}

/* Before the first instruction runs, the offset is −2. */
static bool is_within(const struct py_code *code, int64_t offset)
{
	return offset >= -2 && offset < (int64_t)code->byte_count;
}

bool py_code_line(const struct py_code *code, const struct py_layout *layout, uint64_t ip, int *line)
{
	int64_t offset = layout->ip == PY_IP_BYTES ? (int64_t)ip
		: layout->ip == PY_IP_UNITS            ? (int64_t)(2 * ip)
											   : (int64_t)(ip - code->bytes);
	for (size_t i = 0; !is_within(code, offset) && i < code->copy_count; i++)
		if (is_within(code, (int64_t)(ip - code->copies[i])))
			offset = (int64_t)(ip - code->copies[i]);
	if (!is_within(code, offset))
		return false;
	*line = py_line_at(layout->lines, code->table, code->table_size, code->first_line, offset);
	return true;
}
