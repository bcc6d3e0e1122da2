/* rule_reading.h: the state of reading a rule file. Private to rule_file.c and rule_keys.c. */
#ifndef PMTOP_RULES_READING_RULE_READING_H
#define PMTOP_RULES_READING_RULE_READING_H

#include "src/rules/rule.h"
#include "src/settings/config_reader.h"

enum { RULE_KEYS_MAX = 24 };

struct rule_reading {
	struct config_reader *reader;
	struct rule_book *book;
	struct rule *rule;               /* the one being read */
	size_t key_lines[RULE_KEYS_MAX]; /* by row of rule_keys; 0 = not present */
	size_t entry_count;
	struct {
		const char *name;
		size_t line;
	} entries[RULES_MAX];
};

/* A key: read() stores its value in the rule and leaves the reader at the value's last event. */
struct rule_key {
	const char *name;
	enum status (*read)(struct rule_reading *reading, const char *key);
};

#define REFUSE(remedy, ...) config_refuse(reading->reader, config_line(reading->reader), remedy, __VA_ARGS__)

#endif
