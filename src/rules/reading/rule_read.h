/* rule_read.h: reads conditions, texts and levels of a rule file. */
#ifndef PMTOP_RULES_READING_RULE_READ_H
#define PMTOP_RULES_READING_RULE_READ_H

#include <stdbool.h>

#include "src/rules/rule_figures.h"

struct rule_book;
struct rule_fault;
struct rule_terms;
struct rule_text;

bool rule_read_terms(struct rule_book *book, const char *text, struct rule_terms *out, struct rule_fault *fault);
bool rule_read_text(struct rule_book *book, const char *text, struct rule_text *out, struct rule_fault *fault);
bool rule_read_figure(struct rule_book *book, const char *name, struct figure_ref *out, struct rule_fault *fault);

/* "30 %", "100 MB", "10 min", "2", converted to base units; form FORM_NUMBER if it has no unit. */
bool rule_read_number(const char *text, double *value, enum figure_form *form);
/* Whether a number with this unit can be a level of a figure of that form. */
bool rule_unit_fits(enum figure_form figure, enum figure_form number);

#endif
