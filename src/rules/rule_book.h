/* rule_book.h: the rules that warn, as their files have them: the built-in ones (config/rules, embedded in the
 * program), then the user's.
 *
 * An entry with the name of a rule that is there changes only the keys that it gives. The format: pmtop.yaml(5). */
#ifndef PMTOP_RULES_RULE_BOOK_H
#define PMTOP_RULES_RULE_BOOK_H

#include <stddef.h>

#include "src/base/status.h"

struct rule_book;

/* The built-in rules; NULL when out of memory. */
struct rule_book *rule_book_new(void);
void rule_book_free(struct rule_book *book);
/* One more file's text; all of it is taken, or nothing: then STATUS_INVALID, with "FILE:LINE: what" and the next step
 * in why_not. */
enum status rule_book_parse(
	struct rule_book *book, const char *name, const char *content, size_t length, struct reason *why_not);
enum status rule_book_load(struct rule_book *book, const char *path, struct reason *why_not);
/* Every FOLDER/NAME.yaml, by name. What is wrong with one leaves that one out and is kept as a fault; no folder is
 * none. */
void rule_book_load_folder(struct rule_book *book, const char *folder);
size_t rule_book_faults(const struct rule_book *book, const struct reason **faults);

/* The level of a rule ("latency_over_sla"), in its figure's unit; NAN where there is none. */
double rule_book_level(const struct rule_book *book, const char *rule);

/* The folder of the user's: beside pmtop.yaml, named rules. As settings_path(). */
enum status rule_book_path(char *path, unsigned size);

#endif
