/* rule_text.h: evaluates conditions, and fills in texts. */
#ifndef PMTOP_RULES_RULE_TEXT_H
#define PMTOP_RULES_RULE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/rules/rule.h"

struct context;
struct figure_ref;

/* `unknown`: receives the first unknown figure if the result is TRUTH_UNKNOWN; may be NULL. */
enum truth rule_terms_hold(
	const struct rule_terms *terms, const struct context *context, const struct figure_ref **unknown);
/* Fills in one line. False if a figure outside brackets is unknown; it is printed as "–". */
bool rule_text_fill(const struct rule_text *text, const struct context *context, char *out, size_t size);
/* NULL if none applies. */
const struct rule_choice *rule_choose(const struct rule_choices *choices, const struct context *context);

#endif
