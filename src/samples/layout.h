/* layout.h: the encoding of records: one table of fields per kind, used by writer and reader. Private to src/samples.
 *
 * A struct is encoded as a varint mask of the fields that differ from their default (bit i: the i-th field), then these
 * fields in order. So a layout may grow at its end, and a reader ignores the fields it does not know. Varints are
 * LEB128; signed numbers use zigzag, as in Protocol Buffers. */
#ifndef PMTOP_SAMPLES_LAYOUT_H
#define PMTOP_SAMPLES_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "src/samples/sample_set.h"

#define FIELD_TYPES(X) \
	X(U8) \
	X(U16) \
	X(U32) \
	X(U64) /* default 0 */ \
	X(I32) \
	X(I64)        /* default 0; zigzag */ \
	X(METRIC)     /* uint32_t, figures only; default: the previous figure's plus 1; difference to that, zigzag */ \
	X(INSTANCE)   /* int32_t, figures only; default: the previous figure's; difference to that, zigzag */ \
	X(TIME)       /* int64_t, default 0; difference to the time of the record, zigzag */ \
	X(DOUBLE)     /* default NAN; a whole number as a varint, else 8 bytes */ \
	X(FLOAT)      /* default NAN; 4 bytes */ \
	X(SELF)       /* float, default: the duration at count_offset (int64_t ns) in seconds; 4 bytes */ \
	X(FLAG)       /* bool, default false; the bit is the value */ \
	X(TEXT)       /* const char *, default NULL; length and bytes */ \
	X(PART)       /* a pointer to one struct, default NULL */ \
	X(ROWS)       /* a pointer to `count` structs, default NULL or count 0 */ \
	X(COUNTS)     /* a pointer to HISTOGRAM_BUCKETS numbers, default NULL; zeros run-length encoded */ \
	X(OWN_COUNTS) /* the same as an array in the struct; default all 0 */

enum field_type {
#define FIELD_ID(id) FIELD_##id,
	FIELD_TYPES(FIELD_ID)
#undef FIELD_ID
};

struct layout;

struct field {
	enum field_type type;
	uint16_t offset;
	uint16_t count_offset;     /* ROWS: offset of the size_t with the number of rows; SELF: of the duration */
	const struct layout *part; /* PART, ROWS */
};

enum { LAYOUT_FIELDS_MAX = 24 };

struct layout {
	size_t size; /* of the struct */
	size_t count;
	struct field fields[LAYOUT_FIELDS_MAX];
};

static inline float layout_self(const struct field *field, const char *base)
{
	int64_t duration_ns;
	memcpy(&duration_ns, base + field->count_offset, sizeof duration_ns);
	return (float)((double)duration_ns * 1e-9);
}

/* The mask before a record's fields: which of these follow. The sequence of an event is predicted as the previous
 * event's plus 1, that of any other record as 0. */
enum { HEAD_RUN = 1, HEAD_LANE = 2, HEAD_SEQUENCE = 4, HEAD_TIME = 8, HEAD_EVENT = 16 };

/* The fields of each kind, without kind, run, lane, sequence and time, which all kinds have. */
extern const struct layout record_layouts[RECORD_KIND_COUNT];

#endif
