/* rule_keys.h: the keys of a rule. */
#ifndef PMTOP_RULES_READING_RULE_KEYS_H
#define PMTOP_RULES_READING_RULE_KEYS_H

#include <stddef.h>

#include "src/base/status.h"
#include "src/rules/reading/rule_reading.h"

extern const struct rule_key rule_keys[];
extern const size_t rule_key_count;
enum status rule_no_memory(struct rule_reading *reading);

#endif
