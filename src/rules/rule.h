/* rule.h: a rule in memory, and the functions that read and evaluate it. Private to src/rules and the command that
 * lists rules. */
#ifndef PMTOP_RULES_RULE_H
#define PMTOP_RULES_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/rules/alerts.h"
#include "src/rules/rule_book.h"
#include "src/rules/rule_figures.h"

enum {
	RULES_MAX = 256,
	RULE_TERMS_MAX = 8,
	RULE_CHOICES_MAX = 12,
	RULE_QUIETS_MAX = 8,
	RULE_PARTS_MAX = 48,
	RULE_TEXT_MAX = 600,
	RULE_FAULTS_MAX = 8,
	RULE_ADVICE_DEPTH = 4,
};

/* -- a condition: figures joined by `and` -- */

enum rule_op { RULE_IS, RULE_IS_NOT, RULE_AT_LEAST, RULE_AT_MOST, RULE_ABOVE, RULE_BELOW, RULE_KNOWN, RULE_UNKNOWN };
struct rule_term {
	struct figure_ref figure;
	enum rule_op op;
	double number;
	const char *word;
};
struct rule_terms {
	size_t count;
	const struct rule_term *list;
	const char *text;
};

enum truth { TRUTH_NO, TRUTH_YES, TRUTH_UNKNOWN };

/* -- a text with figures in it -- */

struct text_part {
	/* parts between PART_OPEN and PART_CLOSE are omitted if a figure among them is unknown */
	enum { PART_LITERAL, PART_FIGURE, PART_OPEN, PART_CLOSE } kind;
	const char *literal;
	struct figure_ref figure;
	enum figure_form form;
	double factor;
};
struct rule_text {
	size_t count;
	const struct text_part *parts;
};

/* One of several texts; the first whose condition holds is used. In advice, as_name inserts all advice of another rule
 * or list. */
struct rule_choice {
	struct rule_terms terms;
	struct rule_text say;
	const char *as_name;
	enum severity severity; /* of a note */
};
struct rule_choices {
	size_t count;
	const struct rule_choice *list;
};

/* -- the rule -- */

struct rule_evidence {
	const char *key;
	struct figure_ref figure;
};

struct rule {
	const char *name, *file;
	size_t line;
	bool is_off;
	bool has_level; /* the settings changed is_off and severity; these are the rule's own: */
	bool own_off;
	enum severity own_severity;
	enum alert_action action;
	enum rule_scope of;
	enum severity severity;
	const char *guide;
	struct rule_terms terms;
	struct figure_ref figure; /* figure.row NULL: a list of advice for other rules */
	bool is_below;            /* raised below the level, not above it */
	double level;             /* NAN = none */
	double clear_level;       /* calm beyond this; NAN = CLEAR_RATIO of the level */
	double for_s, clear_s;
	double min; /* minimum number of steps */
	struct rule_choices message, meaning;
	size_t evidence_count, advice_count, quiets_count;
	struct rule_evidence evidence[ALERT_EVIDENCE_MAX];
	const struct rule_choices *advice;   /* of each item, the first that applies */
	const char *quiets[RULE_QUIETS_MAX]; /* suppressed for the same phase, run or model while raised; by a phase, also
											for its run */
};

struct arena_block;

struct rule_book {
	size_t count;
	struct rule *list[RULES_MAX]; /* sorted: a rule comes before those that it quiets */
	struct arena_block *arena;    /* storage of all rules */
	size_t fault_count;
	struct reason faults[RULE_FAULTS_MAX];
};

static inline bool rule_judges(const struct rule *rule) { return rule->figure.row && !rule->is_off; }

/* Reads all of these files, or none on an error; rules of one file may name those of another. */
struct rule_source {
	const char *name, *text;
	size_t length;
};

/* rule_read.c, for rule_keys.c: parses values of a rule file. On false, the fault says what is wrong and what to
 * write. */
struct rule_fault {
	char what[128], next[256];
};

#endif
