/* Parses conditions, texts and levels of a rule file. */
#include "src/rules/reading/rule_read.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/rules/rule.h"
#include "src/rules/rule_book.h"
#include "src/settings/config_reader.h"
#include "src/settings/config_words.h"

enum { NAME_SIZE = 96, SHOWN_SIZE = 40 };

__attribute__((format(printf, 3, 4))) static bool fault_is(
	struct rule_fault *fault, const char *next, const char *format, ...)
{
	va_list arguments;
	snprintf(fault->next, sizeof fault->next, "%s", next);
	va_start(arguments, format);
	vsnprintf(fault->what, sizeof fault->what, format, arguments);
	va_end(arguments);
	return false;
}

static const char *show(char out[SHOWN_SIZE], const char *text)
{
	text_clean(out, SHOWN_SIZE, text, strlen(text));
	return out;
}

/* -- figures -- */

static const char *next_figure(const void *argument, size_t *at)
{
	(void)argument;
	const struct figure *row = figure_at(*at);
	(*at)++;
	return row ? row->name : NULL;
}

bool rule_read_figure(struct rule_book *book, const char *name, struct figure_ref *out, struct rule_fault *fault)
{
	char shown[SHOWN_SIZE], next[160];
	const char *argument;
	const struct figure *row = figure_find(name, &argument);
	if (!row || (argument && !*argument)) {
		const char *closest = config_closest(name, next_figure, NULL);
		snprintf(next, sizeof next, "%s%s%s`pmtop rules --figures` lists them all", closest ? "did you mean \"" : "",
			closest ? closest : "", closest ? "\"? " : "");
		return fault_is(fault, next, "unknown figure \"%s\"", show(shown, name));
	}
	*out = (struct figure_ref){ row, argument ? rule_book_keep(book, argument) : NULL };
	return true;
}

/* -- numbers with units -- */

bool rule_read_number(const char *text, double *value, enum figure_form *form)
{
	static const struct {
		const char *unit;
		double factor;
		enum figure_form form;
	} units[] = {
		{ "", 1, FORM_NUMBER },
		{ "%", 0.01, FORM_PERCENT },
		{ "B", 1, FORM_BYTES },
		{ "kB", 1e3, FORM_BYTES },
		{ "MB", 1e6, FORM_BYTES },
		{ "GB", 1e9, FORM_BYTES },
		{ "TB", 1e12, FORM_BYTES },
		{ "ms", 1e-3, FORM_SECONDS },
		{ "s", 1, FORM_SECONDS },
		{ "min", 60, FORM_SECONDS },
		{ "h", 3600, FORM_SECONDS },
		{ "B/s", 1, FORM_BYTES_PER_S },
		{ "kB/s", 1e3, FORM_BYTES_PER_S },
		{ "MB/s", 1e6, FORM_BYTES_PER_S },
		{ "GB/s", 1e9, FORM_BYTES_PER_S },
	};
	char number[SHOWN_SIZE];
	size_t length = strcspn(text, " %kMGTBmsh");
	if (length >= sizeof number)
		return false;
	memcpy(number, text, length);
	number[length] = '\0';
	const char *unit = text + length + strspn(text + length, " ");
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(unit, units[i].unit) == 0 && config_number(number, value)) {
			*value *= units[i].factor;
			*form = units[i].form;
			return isfinite(*value);
		}
	}
	return false;
}

bool rule_unit_fits(enum figure_form figure, enum figure_form number)
{
	return number == FORM_NUMBER || number == figure || (number == FORM_PERCENT && figure == FORM_FACTOR);
}

/* -- conditions -- */

static const struct {
	const char *sign;
	enum rule_op op;
} signs[] = {
	{ "!=", RULE_IS_NOT },
	{ ">=", RULE_AT_LEAST },
	{ "<=", RULE_AT_MOST },
	{ "=", RULE_IS },
	{ ">", RULE_ABOVE },
	{ "<", RULE_BELOW },
	{ "is", RULE_KNOWN },
};

static const char *const form_of_condition =
	"write \"figure > number\", joined by \"and\"; signs are = != > >= < <=, or \"is known\", \"is unknown\"";

/* The next word from *text on, without surrounding spaces; NULL at the end. */
static const char *take_word(const char **text, char out[NAME_SIZE], const char *ends)
{
	const char *from = *text + strspn(*text, " ");
	size_t length = strcspn(from, ends);
	*text = from + length;
	if (length == 0 || length >= NAME_SIZE)
		return NULL;
	memcpy(out, from, length);
	out[length] = '\0';
	return out;
}

static bool take_sign(const char **text, enum rule_op *op)
{
	*text += strspn(*text, " ");
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
		size_t length = strlen(signs[i].sign);
		if (strncmp(*text, signs[i].sign, length) == 0) {
			*text += length;
			*op = signs[i].op;
			return true;
		}
	}
	return false;
}

/* The text up to the next `and`. */
static bool take_value(const char **text, char out[NAME_SIZE])
{
	const char *from = *text + strspn(*text, " "), *and = strstr(from, " and ");
	size_t length = and? (size_t)(and-from) : strlen(from);
	*text = and? and+strlen(" and ") : from + length;
	while (length > 0 && from[length - 1] == ' ')
		length--;
	if (length == 0 || length >= NAME_SIZE)
		return false;
	memcpy(out, from, length);
	out[length] = '\0';
	return true;
}

static bool read_operand(struct rule_book *book, const char *value, struct rule_term *term, struct rule_fault *fault)
{
	char shown[SHOWN_SIZE], next[64];
	const struct figure *row = term->figure.row;
	enum figure_form form;
	if (term->op == RULE_KNOWN) {
		static const struct {
			const char *word;
			enum rule_op op;
		} states[] = { { "known", RULE_KNOWN }, { "unknown", RULE_UNKNOWN } };
		size_t at = 0;
		while (at < 2 && strcmp(value, states[at].word) != 0)
			at++;
		if (at < 2)
			term->op = states[at].op;
		else
			return fault_is(fault, form_of_condition, "\"is %s\" is not a condition", show(shown, value));
		return true;
	}
	if (row->form == FORM_TEXT) {
		double number;
		/* Published values are texts, which may be compared as numbers. */
		bool is_number = row->number && rule_read_number(value, &number, &form);
		if (is_number)
			term->number = number;
		else if (term->op == RULE_IS || term->op == RULE_IS_NOT)
			return (term->word = rule_book_keep(book, value)) != NULL;
		else if (row->number)
			return fault_is(fault, "write a number", "\"%s\" is not a number", show(shown, value));
		else
			return fault_is(fault, "write = or !=", "%s is a text, and can only be compared with = and !=", row->name);
		return true;
	}
	if (!rule_read_number(value, &term->number, &form))
		return fault_is(
			fault, "write a number, such as 0.3, 30 %, 100 MB, 2 s", "\"%s\" is not a number", show(shown, value));
	if (rule_unit_fits(row->form, form))
		return true;
	snprintf(next, sizeof next, "it is in %s", figure_form_name(row->form));
	return fault_is(fault, next, "\"%s\" has another unit than %s", show(shown, value), row->name);
}

static bool read_term(struct rule_book *book, const char **text, struct rule_term *term, struct rule_fault *fault)
{
	char name[NAME_SIZE], value[NAME_SIZE], shown[SHOWN_SIZE];
	const char *whole = *text;
	*term = (struct rule_term){ .number = NAN };
	if (!take_word(text, name, " =!<>"))
		return fault_is(fault, form_of_condition, "no condition in \"%s\"", show(shown, whole));
	if (!rule_read_figure(book, name, &term->figure, fault))
		return false;
	if (!take_sign(text, &term->op) || !take_value(text, value))
		return fault_is(fault, form_of_condition, "\"%s\" has no value to compare with", show(shown, name));
	return read_operand(book, value, term, fault);
}

bool rule_read_terms(struct rule_book *book, const char *text, struct rule_terms *out, struct rule_fault *fault)
{
	struct rule_term terms[RULE_TERMS_MAX];
	size_t count = 0;
	const char *rest = text;
	do {
		if (count == RULE_TERMS_MAX)
			return fault_is(fault, "join at most 8", "too many conditions");
		if (!read_term(book, &rest, &terms[count], fault))
			return false;
		count++;
	} while (*rest);
	struct rule_term *retained = rule_book_take(book, count * sizeof *retained);
	const char *retained_text = rule_book_keep(book, text);
	if (!retained || !retained_text)
		return fault_is(fault, "close some programs", "out of memory");
	memcpy(retained, terms, count * sizeof *retained);
	*out = (struct rule_terms){ count, retained, retained_text };
	return true;
}

/* -- texts -- */

static const struct {
	const char *word;
	enum figure_form form;
} forms[] = {
	{ "number", FORM_NUMBER },
	{ "count", FORM_COUNT },
	{ "factor", FORM_FACTOR },
	{ "percent", FORM_PERCENT },
	{ "seconds", FORM_SECONDS },
	{ "fixed", FORM_FIXED },
	{ "bytes", FORM_BYTES },
	{ "rate", FORM_RATE },
};

/* The text in braces: a figure, then optionally `*2`, then optionally `|percent`. */
static bool read_placeholder(struct rule_book *book, const char *text, struct text_part *part, struct rule_fault *fault)
{
	char name[NAME_SIZE], word[NAME_SIZE], shown[SHOWN_SIZE];
	const char *rest = text;
	*part = (struct text_part){ .kind = PART_FIGURE, .factor = 1 };
	if (!take_word(&rest, name, "*|"))
		return fault_is(
			fault, "write {figure}; for a literal brace write {{", "no figure in \"{%s}\"", show(shown, text));
	if (!rule_read_figure(book, name, &part->figure, fault))
		return false;
	part->form = part->figure.row->form;
	if (*rest == '*' &&
		(rest++, !take_word(&rest, word, "|") || !config_number(word, &part->factor) || !part->figure.row->number))
		return fault_is(fault, "write {figure*2}", "the factor in \"{%s}\" is not a number", show(shown, text));
	if (*rest != '|')
		return true;
	rest++;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (strcmp(rest, forms[i].word) == 0) {
			part->form = forms[i].form;
			return true;
		}
	}
	return fault_is(fault, "forms are: number, count, factor, percent, seconds, fixed, bytes, rate",
		"unknown form \"%s\"", show(shown, rest));
}

struct text_reading {
	struct rule_book *book;
	struct text_part parts[RULE_PARTS_MAX];
	size_t count;
	char literal[RULE_TEXT_MAX + 1];
	size_t literal_length;
	bool is_open;
};

static bool add_part(struct text_reading *reading, struct text_part part, struct rule_fault *fault)
{
	if (reading->count == RULE_PARTS_MAX)
		return fault_is(fault, "use fewer figures", "too many figures in one text");
	reading->parts[reading->count++] = part;
	return true;
}

static bool end_literal(struct text_reading *reading, struct rule_fault *fault)
{
	if (reading->literal_length == 0)
		return true;
	reading->literal[reading->literal_length] = '\0';
	reading->literal_length = 0;
	const char *retained = rule_book_keep(reading->book, reading->literal);
	if (!retained)
		return fault_is(fault, "close some programs", "out of memory");
	return add_part(reading, (struct text_part){ .kind = PART_LITERAL, .literal = retained }, fault);
}

static bool take_placeholder(struct text_reading *reading, const char **text, struct rule_fault *fault)
{
	char placeholder[NAME_SIZE], shown[SHOWN_SIZE];
	size_t length = strcspn(*text + 1, "}");
	struct text_part part;
	if ((*text)[1 + length] != '}' || length >= sizeof placeholder)
		return fault_is(
			fault, "write {figure}; for a literal brace write {{", "\"%s\" is not closed", show(shown, *text));
	memcpy(placeholder, *text + 1, length);
	placeholder[length] = '\0';
	*text += length + 2;
	return end_literal(reading, fault) && read_placeholder(reading->book, placeholder, &part, fault) &&
		add_part(reading, part, fault);
}

static bool take_bracket(struct text_reading *reading, const char **text, struct rule_fault *fault)
{
	bool opens = **text == '[';
	if (opens == reading->is_open)
		return fault_is(fault,
			"brackets enclose text that is omitted if its figure is unknown; for a literal one write [[ or ]]",
			opens ? "a bracket within brackets" : "a closing bracket without an opening one");
	reading->is_open = opens;
	(*text)++;
	return end_literal(reading, fault) &&
		add_part(reading, (struct text_part){ .kind = opens ? PART_OPEN : PART_CLOSE }, fault);
}

bool rule_read_text(struct rule_book *book, const char *text, struct rule_text *out, struct rule_fault *fault)
{
	struct text_reading reading = { .book = book };
	if (strlen(text) > RULE_TEXT_MAX)
		return fault_is(fault, "write at most 600 bytes", "the text is too long");
	for (const char *at = text; *at;) {
		bool is_doubled = strchr("{}[]", *at) && at[1] == *at;
		if (*at == '{' && !is_doubled) {
			if (!take_placeholder(&reading, &at, fault))
				return false;
		} else if ((*at == '[' || *at == ']') && !is_doubled) {
			if (!take_bracket(&reading, &at, fault))
				return false;
		} else {
			reading.literal[reading.literal_length++] = iscntrl((unsigned char)*at) ? ' ' : *at;
			at += is_doubled ? 2 : 1;
		}
	}
	if (reading.is_open)
		return fault_is(fault, "close it with ]; for a literal bracket write [[", "a bracket is not closed");
	if (!end_literal(&reading, fault))
		return false;
	struct text_part *retained = rule_book_take(book, (reading.count + 1) * sizeof *retained);
	if (!retained)
		return fault_is(fault, "close some programs", "out of memory");
	memcpy(retained, reading.parts, reading.count * sizeof *retained);
	*out = (struct rule_text){ reading.count, retained };
	return true;
}
