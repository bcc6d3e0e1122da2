/* json.h: writes JSON into a buffer. Keys whose value is unknown (NAN, NULL) are left out, never written as null or
 * zero.
 *
 * Strings are escaped: no control, C1 or invisible format character is written raw. */
#ifndef PMTOP_BASE_FORMATS_JSON_H
#define PMTOP_BASE_FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"

struct json {
	struct buffer *out;
	bool need_comma;
	size_t rows_max; /* limit for lists that grow with the run; 0 = no limit */
};

/* `key` is NULL inside an array and for the outermost value. */
void json_open_object(struct json *json, const char *key);
void json_close_object(struct json *json);
void json_open_array(struct json *json, const char *key);
void json_close_array(struct json *json);
void json_text(struct json *json, const char *key, const char *value); /* NULL: left out */
/* not finite: left out; 12 significant digits */
void json_number(struct json *json, const char *key, double value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_bool(struct json *json, const char *key, bool value);
/* How many of a list's `count` rows to leave out. The caller writes the other rows, and then json_left_out, which
 * writes nothing if `count` is 0. */
size_t json_cut(const struct json *json, size_t count);
void json_left_out(struct json *json, const char *key, size_t count);

#endif
