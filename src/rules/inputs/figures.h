/* figures.h: the functions and rows of the tables of figures. Private to src/rules/inputs. */
#ifndef PMTOP_RULES_INPUTS_FIGURES_H
#define PMTOP_RULES_INPUTS_FIGURES_H

#include <stddef.h>

#include "src/rules/rule_figures.h"

#define NUMBER(name) static double name(const struct context *context, __attribute__((unused)) const char *argument)
#define TEXT(name) \
	static void name( \
		const struct context *context, __attribute__((unused)) const char *argument, char out[FIGURE_TEXT_SIZE])

/* Rows of a table: of a NUMBER, a TEXT, or a member of struct model. */
#define NUMBER_ROW(name, form, scope, function, what, lacks) \
	{ \
		name, FORM_##form, RULE_OF_##scope, function, NULL, 0, what, lacks \
	}
#define TEXT_ROW(name, scope, function, what, lacks) \
	{ \
		name, FORM_TEXT, RULE_OF_##scope, NULL, function, 0, what, lacks \
	}
#define MEMBER_ROW(name, form, member, what, lacks) \
	{ \
		name, FORM_##form, RULE_OF_MODEL, NULL, NULL, offsetof(struct model, member), what, lacks \
	}

#endif
