#include "src/base/log_lines.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/base/text_width.h"

enum { BELL = 7, ESCAPE = 27, DELETE = 127, REPLACEMENT = 0xfffd, TAB_CELLS = 8, PARAMETER_MAX = 9999 };

static struct log_line *line_at(struct log_lines *log, int row)
{
	return &log->list[(log->first + row) % LOG_LINES_MAX];
}

const struct log_line *log_lines_at(const struct log_lines *log, int line)
{
	return &log->list[(log->first + line) % LOG_LINES_MAX];
}

static void add_line(struct log_lines *log)
{
	if (log->count < LOG_LINES_MAX) {
		log->count++;
	} else {
		log->first = (log->first + 1) % LOG_LINES_MAX;
		log->row = log->row > 0 ? log->row - 1 : 0;
	}
	line_at(log, log->count - 1)->count = 0;
}

static void next_line(struct log_lines *log)
{
	if (log->count == 0)
		add_line(log);
	if (log->row == log->count - 1)
		add_line(log);
	log->row++;
	log->column = 0;
}

/* Makes `line` at least `count` cells long, with blanks; false: too long, or out of memory. */
static bool lengthen(struct log_line *line, int count)
{
	if (count > LOG_CELLS_MAX)
		return false;
	if (count > line->capacity) {
		int capacity = count < 60 ? 120 : count * 2;
		uint32_t *cells = realloc(line->cells, (size_t)capacity * sizeof *cells);
		if (!cells)
			return false;
		line->cells = cells;
		line->capacity = capacity;
	}
	while (line->count < count)
		line->cells[line->count++] = ' ';
	return true;
}

/* A wide character of which a half is about to be overwritten becomes a blank. */
static void split_wide(struct log_line *line, int column)
{
	if (column > 0 && column < line->count && LOG_CODE(line->cells[column]) == 0) {
		line->cells[column - 1] = ' ';
		line->cells[column] = ' ';
	}
}

static void put(struct log_lines *log, uint32_t code)
{
	int cells = utf8_cells(code);
	if (log->count == 0)
		add_line(log);
	struct log_line *line = line_at(log, log->row);
	if (cells <= 0 || !lengthen(line, log->column + cells))
		return;
	split_wide(line, log->column);
	split_wide(line, log->column + cells);
	line->cells[log->column] = code | log->style << 24;
	if (cells == 2)
		line->cells[log->column + 1] = 0;
	log->column += cells;
}

/* -- escape sequences -- */

static int parameter(const struct log_lines *log, int index, int otherwise)
{
	return index < log->parameter_count && log->parameters[index] > 0 ? log->parameters[index] : otherwise;
}

/* 38;5;N and 38;2;R;G;B: the first eight of N are kept. Returns the parameters read after `index`. */
static int set_long_color(struct log_lines *log, int index, bool is_foreground)
{
	int kind = parameter(log, index + 1, 0), number = parameter(log, index + 2, 0);
	if (is_foreground)
		log->style = (log->style & ~(uint32_t)LOG_COLOR) | (kind == 5 && number < 16 ? (uint32_t)(number & 7) + 1 : 0);
	return kind == 5 ? 2 : kind == 2 ? 4 : 0;
}

static void set_style(struct log_lines *log, int number)
{
	if (number == 0)
		log->style = 0;
	else if (number == 1)
		log->style |= LOG_BOLD;
	else if (number == 2)
		log->style |= LOG_DIM;
	else if (number == 22)
		log->style &= (uint32_t)LOG_COLOR;
	else if ((number >= 30 && number <= 37) || (number >= 90 && number <= 97))
		log->style = (log->style & ~(uint32_t)LOG_COLOR) | ((uint32_t)(number % 10) + 1);
	else if (number == 39)
		log->style &= ~(uint32_t)LOG_COLOR;
}

static void set_styles(struct log_lines *log)
{
	if (log->parameter_count == 0)
		log->style = 0;
	for (int i = 0; i < log->parameter_count; i++) {
		int number = log->parameters[i];
		if (number == 38 || number == 48)
			i += set_long_color(log, i, number == 38);
		else
			set_style(log, number);
	}
}

static void move_rows(struct log_lines *log, int rows)
{
	int last = log->count > 0 ? log->count - 1 : 0, row = log->row + rows;
	log->row = row < 0 ? 0 : row > last ? last : row;
}

static void move_to_column(struct log_lines *log, int column)
{
	log->column = column < 0 ? 0 : column > LOG_CELLS_MAX ? LOG_CELLS_MAX : column;
}

static void erase_in_line(struct log_lines *log, int part)
{
	struct log_line *line = line_at(log, log->row);
	int from = part == 0 ? log->column : 0, end = part == 1 ? log->column + 1 : line->count;
	split_wide(line, from);
	split_wide(line, end);
	for (int i = from; i < end && i < line->count; i++)
		line->cells[i] = ' ';
	if (end >= line->count && from < line->count)
		line->count = from;
}

/* Only what is below the cursor: a program that clears the screen does not clear its log. */
static void erase_below(struct log_lines *log, int part)
{
	if (part != 0)
		return;
	erase_in_line(log, 0);
	for (int row = log->row + 1; row < log->count; row++)
		line_at(log, row)->count = 0;
}

static void end_control(struct log_lines *log, char final)
{
	int count = parameter(log, 0, 1);
	if (log->is_private)
		return;
	switch (final) {
	case 'A': move_rows(log, -count); break;
	case 'B': move_rows(log, count); break;
	case 'C': move_to_column(log, log->column + count); break;
	case 'D': move_to_column(log, log->column - count); break;
	case 'E':
	case 'F':
		move_rows(log, final == 'E' ? count : -count);
		log->column = 0;
		break;
	case 'G': move_to_column(log, count - 1); break;
	case 'J': erase_below(log, parameter(log, 0, 0)); break;
	case 'K': erase_in_line(log, parameter(log, 0, 0)); break;
	case 'm': set_styles(log); break;
	default: break;
	}
}

static void begin_control(struct log_lines *log)
{
	log->state = LOG_CONTROL;
	log->is_private = false;
	log->parameter_count = 0;
	memset(log->parameters, 0, sizeof log->parameters);
}

static void feed_control(struct log_lines *log, unsigned char byte)
{
	if (byte >= '0' && byte <= '9') {
		if (log->parameter_count == 0)
			log->parameter_count = 1;
		int *number = &log->parameters[log->parameter_count - 1];
		*number = *number * 10 + byte - '0' > PARAMETER_MAX ? PARAMETER_MAX : *number * 10 + byte - '0';
	} else if (byte == ';' || byte == ':') {
		if (log->parameter_count == 0)
			log->parameter_count = 1;
		if (log->parameter_count < LOG_PARAMETERS_MAX)
			log->parameter_count++;
		else
			log->is_private = true;
	} else if (byte >= 0x40 && byte < DELETE) {
		log->state = LOG_TEXT;
		end_control(log, (char)byte);
	} else if (byte >= 0x20 && byte < 0x40) {
		log->is_private = true;
	}
}

static void feed_escape(struct log_lines *log, unsigned char byte)
{
	if (byte == '[')
		begin_control(log);
	else if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_')
		log->state = LOG_STRING;
	else if (byte >= 0x20 && byte < 0x30)
		log->state = LOG_INTERMEDIATE;
	else
		log->state = LOG_TEXT;
}

/* -- text -- */

static void control_character(struct log_lines *log, unsigned char byte)
{
	switch (byte) {
	case '\n':
	case '\v':
	case '\f': next_line(log); break;
	case '\r': log->column = 0; break;
	case '\b': move_to_column(log, log->column - 1); break;
	case '\t': move_to_column(log, (log->column / TAB_CELLS + 1) * TAB_CELLS); break;
	case ESCAPE: log->state = LOG_ESCAPE; break;
	default: break;
	}
}

/* Takes the next byte of a code point; false: it does not belong to the one begun, which was malformed. */
static bool continue_code_point(struct log_lines *log, unsigned char byte)
{
	uint32_t code;
	if ((byte & 0xc0) != 0x80) {
		log->byte_count = 0;
		put(log, REPLACEMENT);
		return false;
	}
	log->bytes[log->byte_count++] = (char)byte;
	if (log->byte_count < log->byte_need)
		return true;
	utf8_decode(log->bytes, (size_t)log->byte_count, &code);
	log->byte_count = 0;
	if (code < 0x80 || code >= 0xa0)
		put(log, code);
	return true;
}

static void feed_text(struct log_lines *log, unsigned char byte)
{
	if (log->byte_count > 0 && continue_code_point(log, byte))
		return;
	if (byte < 0x20) {
		control_character(log, byte);
	} else if (byte < DELETE) {
		put(log, byte);
	} else if (byte >= 0xc2 && byte <= 0xf4) {
		log->bytes[0] = (char)byte;
		log->byte_count = 1;
		log->byte_need = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
	} else if (byte != DELETE) {
		put(log, REPLACEMENT);
	}
}

/* A string ends with BEL or ESC \; what stands in it is dropped. So that an unended one does not swallow the log, a
 * line break ends it too. */
static void feed_string(struct log_lines *log, unsigned char byte)
{
	bool is_escaped = log->state == LOG_STRING_ESCAPE;
	if (byte == ESCAPE)
		log->state = LOG_STRING_ESCAPE;
	else if (byte == BELL || byte == '\n' || (is_escaped && byte == '\\'))
		log->state = LOG_TEXT;
	else
		log->state = LOG_STRING;
	if (byte == '\n')
		next_line(log);
}

static void feed_sequence(struct log_lines *log, unsigned char byte)
{
	if (log->state == LOG_STRING || log->state == LOG_STRING_ESCAPE) {
		feed_string(log, byte);
	} else if (byte < 0x20) {
		/* Control characters act in the midst of a sequence; a line break ends it, as damage would last. */
		if (byte == '\n')
			log->state = LOG_TEXT;
		control_character(log, byte);
	} else if (log->state == LOG_ESCAPE) {
		feed_escape(log, byte);
	} else if (log->state == LOG_CONTROL) {
		feed_control(log, byte);
	} else if (byte >= 0x30) {
		log->state = LOG_TEXT;
	}
}

void log_lines_feed(struct log_lines *log, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (log->state == LOG_TEXT)
			feed_text(log, (unsigned char)bytes[i]);
		else
			feed_sequence(log, (unsigned char)bytes[i]);
	}
}

void log_lines_clear(struct log_lines *log)
{
	log->first = log->count = log->row = log->column = log->byte_count = 0;
	log->style = 0;
	log->state = LOG_TEXT;
}

void log_lines_release(struct log_lines *log)
{
	for (int i = 0; i < LOG_LINES_MAX; i++)
		free(log->list[i].cells);
	memset(log, 0, sizeof *log);
}
