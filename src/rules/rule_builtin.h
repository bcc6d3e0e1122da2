/* rule_builtin.h: the files of config/rules as they were when the program was built; the Makefile writes the other
 * half. Private to src/rules. */
#ifndef PMTOP_RULES_RULE_BUILTIN_H
#define PMTOP_RULES_RULE_BUILTIN_H

struct rule_builtin {
	const char *name, *text;
};
extern const struct rule_builtin rule_builtin[]; /* by name; the last has none */

#endif
