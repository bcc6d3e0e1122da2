/* pickle.h: reads a pickle of plain data (protocols 2 to 5) in one pass. It executes nothing: an opcode that would
 * import, call or build an object ends the reading. Nothing is kept of what is read but what the maker makes of it.
 *
 * Format: Lib/pickletools.py of CPython. */
#ifndef PMTOP_TRACE_SNAPSHOT_PICKLE_H
#define PMTOP_TRACE_SNAPSHOT_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"

struct profile_input;

/* What a value is. The memo retains kinds below PICKLE_INT: what it refers to once more may be one of them. */
enum pickle_kind {
	PICKLE_OTHER = 0,
	PICKLE_TEXT,       /* number: what the maker's text() returned */
	PICKLE_LIST,       /* number: its items so far */
	PICKLE_DICT,       /* nothing was set in it yet */
	PICKLE_SHARED = 4, /* 4 to 6: the maker's */
	PICKLE_INT = 7,
	PICKLE_OWN = 8, /* from here on: the maker's, for values that are used once */
};

enum { PICKLE_ID_MAX = (1 << 29) - 1 };

struct pickle_value {
	uint32_t kind;
	uint32_t memo; /* its index in the memo + 1; 0 = none */
	int64_t number;
};

/* Each returns false if there is no memory. */
struct pickle_maker {
	void *context;
	/* Sets *id, at most PICKLE_ID_MAX. The text is cut to 4096 bytes. */
	bool (*text)(void *context, const char *text, size_t length, uint32_t *id);
	/* Items are appended: `list` (PICKLE_LIST, or what the maker made of it) may become another kind. */
	bool (*list)(void *context, struct pickle_value *list, const struct pickle_value *items, size_t count);
	/* Keys and values: `dict` (PICKLE_DICT) becomes what the maker makes of it. */
	bool (*dict)(void *context, struct pickle_value *dict, const struct pickle_value *pairs, size_t count);
};

struct pickle_end {
	uint64_t offset;       /* of the byte behind what was read */
	bool is_cut;           /* the file ends early; the maker got what stands before */
	bool has_more;         /* something follows the pickle, at offset */
	struct reason why_cut; /* of is_cut: why; the text may be empty */
};

/* On a failure *why_not names the opcode and its byte. */
enum status pickle_read(
	struct profile_input *input, const struct pickle_maker *maker, struct pickle_end *end, struct reason *why_not);
/* Whether a file begins as a pickle does. */
bool pickle_is_begun(const struct profile_input *input);

#endif
