/* rule_book.h: the rules that raise warnings: the built-in ones (config/rules, embedded in the program), then the
 * user's files.
 *
 * An entry with the name of an existing rule changes only the keys that it contains. Format: pmtop.yaml(5). */
#ifndef PMTOP_RULES_RULE_BOOK_H
#define PMTOP_RULES_RULE_BOOK_H

#include <stddef.h>

#include "src/base/status.h"
#include "src/rules/rule_figures.h"

struct rule_book;

/* The built-in rules; NULL when out of memory. */
struct rule_book *rule_book_new(void);
void rule_book_free(struct rule_book *book);
/* Adds the rules of one file, or none on an error: STATUS_INVALID, with "FILE:LINE: what" and the next step in
 * why_not. */
enum status rule_book_parse(
	struct rule_book *book, const char *name, const char *content, size_t length, struct reason *why_not);
enum status rule_book_load(struct rule_book *book, const char *path, struct reason *why_not);
/* Loads every FOLDER/NAME.yaml, sorted by name. A file with an error is skipped and recorded as a fault. A missing
 * folder is no error. */
void rule_book_load_folder(struct rule_book *book, const char *folder);
size_t rule_book_faults(const struct rule_book *book, const struct reason **faults);

/* The level of a rule ("latency_over_sla"), in its figure's unit; NAN if there is none. */
double rule_book_level(const struct rule_book *book, const char *rule);

/* The user's folder: `rules` next to pmtop.yaml. Results as settings_path(). */
enum status rule_book_path(char *path, unsigned size);

struct rule;

/* NULL if there is none of that name. */
const struct rule *rule_find(const struct rule_book *book, const char *name);
const char *rule_scope_name(enum rule_scope scope);

/* Storage that lives as long as the book; NULL when out of memory. */
void *rule_book_take(struct rule_book *book, size_t size);
const char *rule_book_keep(struct rule_book *book, const char *text);

#endif
