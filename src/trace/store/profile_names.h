/* profile_names.h: texts of a trace, each stored once. A text stays as it stands in the file, escapes included, until
 * it is shown. */
#ifndef PMTOP_TRACE_PROFILE_NAMES_H
#define PMTOP_TRACE_PROFILE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/trace/store/profile_token.h"

struct profile_name {
	uint32_t offset, length; /* in profile_names.text */
	uint32_t hash;
	uint16_t kind;  /* for the caller; 0 at first */
	uint16_t flags; /* for the caller */
	uint32_t row;   /* for the caller: index of the row of this name + 1; 0 = none */
	uint32_t found; /* for the caller: another row, which may be of this name */
};

struct profile_names {
	char *text;
	size_t text_length, text_capacity;
	struct profile_name *names; /* [0] is the empty text */
	uint32_t count, capacity;
	uint32_t *slots; /* index; 0 = free */
	uint32_t slot_count;
	bool is_full; /* memory ran out, or more than NAMES_MAX: the names beyond are all PROFILE_NAME_OTHER */
};

enum { PROFILE_NAME_NONE = 0, PROFILE_NAME_OTHER = 1 };

bool profile_names_init(struct profile_names *names);
void profile_names_release(struct profile_names *names);
uint32_t profile_names_add(struct profile_names *names, struct profile_slice text);
/* Its index, or 0 if it is not there. */
uint32_t profile_names_find(const struct profile_names *names, struct profile_slice text);
struct profile_slice profile_names_text(const struct profile_names *names, uint32_t name);
/* Decodes its escapes and makes it safe to show; cut to `size`. Returns `out`. */
const char *profile_names_show(const struct profile_names *names, uint32_t name, char *out, size_t size);
/* The same, whole, in memory of its own; NULL: no memory. To be freed. */
char *profile_names_copy(const struct profile_names *names, uint32_t name);
/* The same for any text of the file. */
const char *profile_show(struct profile_slice text, char *out, size_t size);
bool profile_names_begin(const struct profile_names *names, uint32_t name, const char *prefix);
bool profile_names_contain(const struct profile_names *names, uint32_t name, const char *part);

#endif
