#include "src/settings/setting_rows.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SETTING_ROW(section, key, member, kind, value, least, most) \
	{ #section, #key, SETTING_##kind, offsetof(struct settings, member), least, most },

const struct setting_row setting_rows[SETTING_ROWS] = {
	{ "screen", "color", SETTING_COLOR, offsetof(struct settings, color), COLOR_AUTO, COLOR_NEVER },
	SETTINGS(SETTING_ROW)
};

int setting_row_find(const char *section, const char *key)
{
	for (int i = 0; i < SETTING_ROWS; i++)
		if (strcmp(setting_rows[i].section, section) == 0 && (!key || strcmp(setting_rows[i].key, key) == 0))
			return i;
	return -1;
}

/* -- values -- */

static const char *skip_digits(const char *text)
{
	while (*text >= '0' && *text <= '9')
		text++;
	return text;
}

static bool is_integer(const char *text)
{
	text += *text == '-' || *text == '+';
	const char *end = skip_digits(text);
	return end > text && *end == '\0';
}

/* Decimal only: strtod's hexadecimal, "inf" and "nan" are no settings. */
static bool is_decimal(const char *text)
{
	text += *text == '-' || *text == '+';
	const char *end = skip_digits(text);
	size_t digits = (size_t)(end - text);
	if (*end == '.') {
		const char *fraction = end + 1;
		end = skip_digits(fraction);
		digits += (size_t)(end - fraction);
	}
	if (digits == 0)
		return false;
	return *end == '\0' || ((*end == 'e' || *end == 'E') && is_integer(end + 1));
}

static bool read_number(const char *text, double *value)
{
	if (!is_decimal(text))
		return false;
	locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	if (c_locale == (locale_t)0)
		return false;
	*value = strtod_l(text, NULL, c_locale);
	freelocale(c_locale);
	return true;
}

static bool read_integer(const char *text, double *value)
{
	return is_integer(text) && read_number(text, value);
}

static bool read_choice(const char *text, const char *const *words, size_t count, double *value)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(text, words[i]) == 0) {
			*value = (double)i;
			return true;
		}
	return false;
}

static bool read_flag(const char *text, double *value)
{
	static const char *const words[] = { "false", "true" };
	return read_choice(text, words, 2, value);
}

static bool read_color(const char *text, double *value)
{
	static const char *const words[] = { [COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never" };
	return read_choice(text, words, 3, value);
}

static const struct {
	bool (*read)(const char *text, double *value);
	const char *wanted;
	bool has_range;
} kinds[] = {
	[SETTING_NUMBER] = { read_number, "a number", true },
	[SETTING_INTEGER] = { read_integer, "a whole number", true },
	[SETTING_FLAG] = { read_flag, "true or false", false },
	[SETTING_COLOR] = { read_color, "auto, always or never", false },
};

static void store(const struct setting_row *row, double value, struct settings *settings)
{
	void *place = (char *)settings + row->offset;
	switch (row->kind) {
	case SETTING_NUMBER: *(double *)place = value; break;
	case SETTING_INTEGER: *(int64_t *)place = (int64_t)value; break;
	case SETTING_FLAG: *(bool *)place = value > 0; break;
	case SETTING_COLOR: *(enum color_choice *)place = (enum color_choice)value; break;
	}
}

enum setting_fault setting_take(const struct setting_row *row, const char *text, struct settings *settings)
{
	double value;
	if (!kinds[row->kind].read(text, &value))
		return SETTING_WRONG_TYPE;
	if (!(value >= row->least && value <= row->most))
		return SETTING_OUT_OF_RANGE;
	store(row, value, settings);
	return SETTING_TAKEN;
}

void setting_wanted(const struct setting_row *row, struct buffer *out)
{
	buffer_puts(out, kinds[row->kind].wanted);
	if (kinds[row->kind].has_range)
		buffer_printf(out, " from %.10g to %.10g", row->least, row->most);
}

/* -- advice on a word that is none -- */

static size_t least_of(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;
	return least < c ? least : c;
}

/* Levenshtein's distance; words longer than any of ours are as far as they are long. */
static size_t distance(const char *a, const char *b)
{
	size_t row[33], a_length = strlen(a), b_length = strlen(b);
	if (b_length >= sizeof row / sizeof *row || a_length > 2 * sizeof row / sizeof *row)
		return a_length + b_length;
	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t above = row[j];
			row[j] = least_of(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_length];
}

/* The next candidate's name from row *i on: each key of the section, or each section once. NULL at the end. */
static const char *next_name(const char *section, size_t *i)
{
	while (*i < SETTING_ROWS) {
		const struct setting_row *row = &setting_rows[(*i)++];
		if (section && strcmp(row->section, section) == 0)
			return row->key;
		if (!section && (row == setting_rows || strcmp(row->section, row[-1].section) != 0))
			return row->section;
	}
	return NULL;
}

void setting_advise(const char *section, const char *word, struct buffer *out)
{
	const char *name, *closest = NULL;
	size_t least = strlen(word) / 3 + 2;      /* farther than this is another word */
	for (size_t i = 0; (name = next_name(section, &i));) {
		size_t far = distance(word, name);
		if (far < least) {
			least = far;
			closest = name;
		}
	}
	if (closest)
		buffer_printf(out, "did you mean \"%s\"? ", closest);
	const char *before = section ? "keys are: " : "sections are: ";
	for (size_t i = 0; (name = next_name(section, &i)); before = ", ")
		buffer_printf(out, "%s%s", before, name);
}
