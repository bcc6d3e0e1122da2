/* figures.h: how the functions of a table of figures begin. Private to src/rules/inputs. */
#ifndef PMTOP_RULES_INPUTS_FIGURES_H
#define PMTOP_RULES_INPUTS_FIGURES_H

#include "src/rules/rule_figures.h"

#define NUMBER(name) static double name(const struct context *context, __attribute__((unused)) const char *argument)
#define TEXT(name) \
	static void name( \
		const struct context *context, __attribute__((unused)) const char *argument, char out[FIGURE_TEXT_SIZE])

#endif
