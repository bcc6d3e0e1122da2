/* json_tree.h: a JSON text (RFC 8259) read into a tree, for files that pmtop wrote and a person may have changed.
 * Unknown keys are nobody's business. */
#ifndef PMTOP_BASE_FORMATS_JSON_TREE_H
#define PMTOP_BASE_FORMATS_JSON_TREE_H

#include <stddef.h>

#include "src/base/status.h"

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_ARRAY, JSON_OBJECT };

struct json_value {
	enum json_kind kind;
	double number;                         /* of a number; 1 or 0 of a truth */
	const char *key;                       /* within an object; else NULL */
	const char *text;                      /* of a text: UTF-8; NULL else */
	const struct json_value *first, *next; /* what is in it; what comes after it */
	size_t count;                          /* how many are in it */
};

struct json_tree;

/* Several texts in a row (a line each): the last. Where it is not JSON: STATUS_DAMAGED, with "line N: what". */
enum status json_tree_read(const char *text, size_t length, struct json_tree **out, struct reason *why_not);
void json_tree_free(struct json_tree *tree);
const struct json_value *json_tree_root(const struct json_tree *tree);

/* Of an object; NULL where it is none, has none of that key, or one of another kind. */
const struct json_value *json_member(const struct json_value *object, const char *key, enum json_kind kind);
double json_member_number(const struct json_value *object, const char *key);    /* NAN: none */
const char *json_member_text(const struct json_value *object, const char *key); /* NULL: none */

#endif
