/* Evaluates conditions, and fills in texts. */
#include "src/rules/rule_text.h"

#include <math.h>
#include <string.h>

#include "src/rules/rule.h"

static enum truth compare(enum rule_op op, double value, double with)
{
	bool holds = false;
	switch (op) {
	case RULE_IS: holds = !(value < with) && !(value > with); break;
	case RULE_IS_NOT: holds = value < with || value > with; break;
	case RULE_AT_LEAST: holds = value >= with; break;
	case RULE_AT_MOST: holds = value <= with; break;
	case RULE_ABOVE: holds = value > with; break;
	case RULE_BELOW: holds = value < with; break;
	case RULE_KNOWN:
	case RULE_UNKNOWN: break;
	}
	return isnan(value) ? TRUTH_UNKNOWN : holds ? TRUTH_YES : TRUTH_NO;
}

static enum truth term_holds(const struct rule_term *term, const struct context *context)
{
	char text[FIGURE_TEXT_SIZE];
	if (term->op == RULE_KNOWN || term->op == RULE_UNKNOWN)
		return figure_text(&term->figure, context, text) == (term->op == RULE_KNOWN) ? TRUTH_YES : TRUTH_NO;
	if (!term->word)
		return compare(term->op, figure_number(&term->figure, context), term->number);
	if (!figure_text(&term->figure, context, text))
		return TRUTH_UNKNOWN;
	return (strcmp(text, term->word) == 0) == (term->op == RULE_IS) ? TRUTH_YES : TRUTH_NO;
}

/* False if one term is false, even if others are unknown. */
enum truth rule_terms_hold(
	const struct rule_terms *terms, const struct context *context, const struct figure_ref **unknown)
{
	enum truth all = TRUTH_YES;
	for (size_t i = 0; i < terms->count; i++) {
		enum truth one = term_holds(&terms->list[i], context);
		if (one == TRUTH_NO)
			return TRUTH_NO;
		if (one == TRUTH_UNKNOWN && all == TRUTH_YES) {
			all = TRUTH_UNKNOWN;
			if (unknown)
				*unknown = &terms->list[i].figure;
		}
	}
	return all;
}

const struct rule_choice *rule_choose(const struct rule_choices *choices, const struct context *context)
{
	for (size_t i = 0; i < choices->count; i++)
		if (rule_terms_hold(&choices->list[i].terms, context, NULL) == TRUTH_YES)
			return &choices->list[i];
	return NULL;
}

/* Appends text; truncates between UTF-8 characters. */
static size_t add(char *out, size_t size, size_t used, const char *text)
{
	size_t length = strlen(text), room = size - 1 - used;
	if (length > room) {
		length = room;
		while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
			length--;
	}
	memcpy(out + used, text, length);
	out[used + length] = '\0';
	return used + length;
}

static bool write_part(const struct text_part *part, const struct context *context, char out[FIGURE_TEXT_SIZE])
{
	bool is_as_it_is = part->factor == 1.0 && part->form == part->figure.row->form;
	if (is_as_it_is || !part->figure.row->number)
		return figure_text(&part->figure, context, out);
	double value = figure_number(&part->figure, context) * part->factor;
	figure_write(part->form == FORM_TEXT ? FORM_COUNT : part->form, value, out);
	return !isnan(value);
}

bool rule_text_fill(const struct rule_text *text, const struct context *context, char *out, size_t size)
{
	char figure[FIGURE_TEXT_SIZE];
	bool is_whole = true, is_open = false, is_left_out = false;
	size_t used = 0, opened = 0;
	out[0] = '\0';
	for (size_t i = 0; i < text->count; i++) {
		const struct text_part *part = &text->parts[i];
		switch (part->kind) {
		case PART_OPEN:
			is_open = true;
			is_left_out = false;
			opened = used;
			break;
		case PART_CLOSE:
			is_open = false;
			if (is_left_out)
				used = opened;
			out[used] = '\0';
			break;
		case PART_LITERAL: used = add(out, size, used, part->literal); break;
		case PART_FIGURE:
			if (write_part(part, context, figure)) {
				used = add(out, size, used, figure);
			} else if (is_open) {
				is_left_out = true;
			} else {
				is_whole = false;
				used = add(out, size, used, "–");
			}
			break;
		}
	}
	return is_whole;
}
