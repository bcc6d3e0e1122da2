/* json_tree.h: reads JSON (RFC 8259) into a tree, for files that pmtop wrote and a person may have edited. */
#ifndef PMTOP_BASE_FORMATS_JSON_TREE_H
#define PMTOP_BASE_FORMATS_JSON_TREE_H

#include <stddef.h>

#include "src/base/status.h"

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_ARRAY, JSON_OBJECT };

struct json_value {
	enum json_kind kind;
	double number;                         /* of a number; 1 or 0 of a boolean */
	const char *key;                       /* within an object; else NULL */
	const char *text;                      /* of a string: UTF-8; else NULL */
	const struct json_value *first, *next; /* its first member; the next member of its parent */
	size_t count;                          /* of its members */
};

struct json_tree;

/* Of several values in a row (one a line) the last is the root. STATUS_DAMAGED: not JSON; the reason is "line N:
 * what". */
enum status json_tree_read(const char *text, size_t length, struct json_tree **out, struct reason *why_not);
void json_tree_free(struct json_tree *tree);
const struct json_value *json_tree_root(const struct json_tree *tree);

/* A member of an object; NULL if `object` is not one, or has no member of that key and kind. */
const struct json_value *json_member(const struct json_value *object, const char *key, enum json_kind kind);
double json_member_number(const struct json_value *object, const char *key);    /* NAN: none */
const char *json_member_text(const struct json_value *object, const char *key); /* NULL: none */

#endif
