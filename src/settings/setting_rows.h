/* setting_rows.h: the table of settings: section, key, struct member, type and range. Private to src/settings. */
#ifndef PMTOP_SETTINGS_SETTING_ROWS_H
#define PMTOP_SETTINGS_SETTING_ROWS_H

#include <stddef.h>

#include "src/base/buffer.h"
#include "src/settings/settings.h"

enum setting_kind {
	SETTING_NUMBER,
	SETTING_INTEGER,
	SETTING_FLAG,
	SETTING_COLOR,
	SETTING_MARKS,
	SETTING_NAME,
	SETTING_COMMAND,
	SETTING_WORDS,
};

struct setting_row {
	const char *section, *key;
	enum setting_kind kind;
	size_t offset; /* in struct settings */
	double min, max;
};

#define SETTING_ONE(section, key, member, kind, value, min, max) +1
/* color, marks, theme, panels, those of the list, and the commands */
enum { SETTING_ROWS = 4 SETTINGS(SETTING_ONE) + SETTING_COMMANDS };
#undef SETTING_ONE

/* The section whose keys are the names of rules. */
#define SETTING_LEVELS "levels"

extern const struct setting_row setting_rows[SETTING_ROWS]; /* the rows of a section are adjacent */

/* Returns the row's index, or −1. With a NULL key: the section's first row. */
int setting_row_find(const char *section, const char *key);

enum setting_fault { SETTING_TAKEN, SETTING_WRONG_TYPE, SETTING_OUT_OF_RANGE };
/* Numbers have a decimal point in every locale. *settings is untouched unless the value is taken. */
enum setting_fault setting_take(const struct setting_row *row, const char *text, struct settings *settings);
void setting_take_command(
	const struct setting_row *row, const struct setting_command *command, struct settings *settings);
/* The panels in this order; false: a word names none, or one that is already there. */
bool setting_take_panels(const struct setting_command *words, struct settings *settings);
/* Sets or replaces the level of a rule; false: no such level, or the list is full. */
bool setting_take_level(const char *rule, const char *level, struct settings *settings);
/* "a number from 1 to 1000", "true or false", … */
void setting_wanted(const struct setting_row *row, struct buffer *out);

/* `did you mean "mad"? keys are: mad, ratio, …`; with a NULL `section` about the sections. */
void setting_advise(const char *section, const char *word, struct buffer *out);

#endif
