/* options_rows.h: every option of the command line: its name, its value, and the commands that take it. */
#ifndef PMTOP_COMMANDS_OPTIONS_OPTIONS_ROWS_H
#define PMTOP_COMMANDS_OPTIONS_OPTIONS_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "src/commands/commands.h"

enum option_kind {
	OPTION_FLAG,   /* bool */
	OPTION_TEXT,   /* const char * */
	OPTION_WHOLE,  /* int64_t above 0 */
	OPTION_NUMBER, /* double from min to max */
	OPTION_TIME,   /* double, seconds: "90", "90s", "5m", "2h", "1d" */
	OPTION_BYTES,  /* double: "500k", "20M", "2G" (powers of 1000) */
	OPTION_WORD,   /* int: one of words */
	OPTION_OTHER,  /* options.c takes it itself */
};

struct option_word {
	const char *text;
	int value;
};

struct option_row {
	const char *name; /* long; NULL = the end */
	char letter;      /* 0 = none */
	enum option_kind kind;
	size_t offset; /* in struct options */
	double min, max;
	const struct option_word *words; /* ends with a text of NULL */
	/* "seconds from 0.05 to 60", for the error about a wrong value; NULL = option_takes() derives it from the kind */
	const char *takes;
	unsigned commands; /* 1 << enum command_id; 0 = all */
	/* "FILE" (NULL = no value; in brackets: an optional one), and the text for --help, at most 50 columns (NULL:
	 * another row names it) */
	const char *value, *help;
};

extern const struct option_row option_rows[];
/* The words of --format, in the order of enum output_format; ends with a text of NULL. */
extern const struct option_word option_formats[];

/* Sets the row's member of *options from `value`. Returns false if the value is wrong. */
bool option_take(const struct option_row *row, const char *value, struct options *options);
/* The values that the option takes, in words: "a whole number above 0". */
const char *option_takes(const struct option_row *row);

#endif
