/* rule_levels.h: the severities that the user chose: levels: in pmtop.yaml, and the set-up screen. */
#ifndef PMTOP_RULES_RULE_LEVELS_H
#define PMTOP_RULES_RULE_LEVELS_H

#include <stddef.h>
#include <stdint.h>

#include "src/rules/alerts.h"
#include "src/rules/rule_book.h"
#include "src/settings/settings.h"

/* The rules that raise warnings, for a person to choose their levels. */
struct rule_row {
	const char *name;
	enum setting_level level; /* now */
	char condition[160];      /* "above 30 %: share of the step" */
};
/* Fills at most `max` rows, the most severe first, then by name; returns how many. */
size_t rule_book_rows(const struct rule_book *book, struct rule_row *rows, size_t max);
/* Gives the rules the levels of the settings, and the others their own. A name that no rule has becomes a fault. */
void rule_book_set_levels(struct rule_book *book, const struct setting_levels *levels);

/* After the levels of the rules changed: clears the warnings of rules that are off, and gives the others the severity
 * of their rule. */
void alerts_follow_levels(struct alerts *alerts, int64_t now_ns, const struct settings *settings);

#endif
