/* rule_builtin.h: the files of config/rules, embedded at build time; the Makefile generates the definition. Private to
 * src/rules. */
#ifndef PMTOP_RULES_RULE_BUILTIN_H
#define PMTOP_RULES_RULE_BUILTIN_H

struct rule_builtin {
	const char *name, *text;
};
extern const struct rule_builtin rule_builtin[]; /* sorted by name; the last has name NULL */

#endif
