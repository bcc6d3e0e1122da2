/* log_lines.h: the newest lines of a program's output, as a terminal would show them: "\r", backspace, tab and cursor
 * movement applied, so that a progress bar is one line; colours kept as a few styles; all other escape sequences
 * dropped. A cell holds one code point, which may still be one that must not reach a terminal: canvas_put() checks it.
 */
#ifndef PMTOP_BASE_LOG_LINES_H
#define PMTOP_BASE_LOG_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rest of a longer line is dropped. */
enum { LOG_LINES_MAX = 2000, LOG_CELLS_MAX = 2000, LOG_PARAMETERS_MAX = 16 };

/* A cell: a code point (0 = the right half of a wide character) and a style. */
#define LOG_CODE(cell) ((cell)&0x1fffff)
#define LOG_STYLE(cell) ((cell) >> 24)
/* A style: LOG_BOLD, LOG_DIM, and a colour: 0 = none, 1 … 8 = black, red, green, yellow, blue, magenta, cyan, white. */
enum { LOG_COLOR = 0x0f, LOG_BOLD = 0x10, LOG_DIM = 0x20 };

struct log_line {
	uint32_t *cells;
	int count, capacity;
};

enum log_state { LOG_TEXT, LOG_ESCAPE, LOG_INTERMEDIATE, LOG_CONTROL, LOG_STRING, LOG_STRING_ESCAPE };

struct log_lines {
	struct log_line list[LOG_LINES_MAX]; /* a ring: the oldest is at `first` */
	int first, count;
	int row, column; /* the cursor; `row` counts from the oldest line */
	uint32_t style;
	enum log_state state;
	bool is_private; /* the sequence being read is not one of the standard's */
	int parameters[LOG_PARAMETERS_MAX], parameter_count;
	char bytes[4]; /* the beginning of a code point */
	int byte_count, byte_need;
};

/* Zeroed memory is an empty log. */
void log_lines_feed(struct log_lines *log, const char *bytes, size_t length);
/* 0 = the oldest line. The last one may be empty: the cursor stands there. */
const struct log_line *log_lines_at(const struct log_lines *log, int line);
/* Forgets all lines and any sequence that is half read. */
void log_lines_clear(struct log_lines *log);
void log_lines_release(struct log_lines *log);

#endif
