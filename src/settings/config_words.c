#include "src/settings/config_words.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "src/settings/config_reader.h"

/* -- numbers -- */

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

bool config_number(const char *text, double *value)
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

bool config_whole_number(const char *text, double *value) { return is_integer(text) && config_number(text, value); }

/* -- advice on an unknown word -- */

static size_t min_of(size_t a, size_t b, size_t c)
{
	size_t min = a < b ? a : b;
	return min < c ? min : c;
}

/* Levenshtein's distance; for words longer than any name, the sum of both lengths. */
static size_t distance(const char *a, const char *b)
{
	size_t row[49], a_length = strlen(a), b_length = strlen(b);
	if (b_length >= sizeof row / sizeof *row || a_length > 2 * sizeof row / sizeof *row)
		return a_length + b_length;
	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t above = row[j];
			row[j] = min_of(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_length];
}

const char *config_closest(const char *word, config_names *next, const void *argument)
{
	const char *name, *closest = NULL;
	size_t length = strlen(word), min = length < 4 ? 2 : length / 3 + 2; /* a name this far away is no typing error */
	for (size_t at = 0; (name = next(argument, &at));) {
		size_t far = distance(word, name);
		if (far < min) {
			min = far;
			closest = name;
		}
	}
	return closest;
}

void config_advise(const char *word, const char *before, config_names *next, const void *argument, struct buffer *out)
{
	const char *name, *closest = config_closest(word, next, argument);
	if (closest)
		buffer_printf(out, "did you mean \"%s\"? ", closest);
	for (size_t at = 0; (name = next(argument, &at)); before = ", ")
		buffer_printf(out, "%s%s", before, name);
}

bool config_truth(const char *text, bool *value)
{
	static const char *const words[] = { "false", "true" };
	for (int i = 0; i < 2; i++)
		if (strcmp(text, words[i]) == 0) {
			*value = i == 1;
			return true;
		}
	return false;
}
