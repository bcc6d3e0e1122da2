/* layout.h: how records are written as bytes: one table of fields per kind, used both ways. Private to src/samples.
 *
 * Written is a mask of the fields that differ from their default (bit i: the i-th field), as a varint, then each of
 * these, in order. So a layout may grow at its end, and a reader leaves out what it does not know. Varints are LEB128;
 * signed ones zigzag, as in Protocol Buffers. */
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
	X(I64)      /* default 0; zigzag */ \
	X(METRIC)   /* uint32_t, default the one after that of the figure before; the difference to it, zigzag. Of figures \
				   alone: who does */ \
	X(INSTANCE) /* int32_t, default that of the figure before; the difference to it, zigzag.  not know a kind cannot \
				   go on from it */ \
	X(TIME)     /* int64_t, default 0; the difference to the last time of the block, zigzag */ \
	X(DOUBLE)   /* default NAN; a whole number as a varint, else 8 bytes */ \
	X(FLOAT)    /* default NAN; 4 bytes */ \
	X(SELF)     /* float, default the duration beside it (int64_t nanoseconds, at count_offset) in seconds; 4 bytes */ \
	X(FLAG)     /* bool, default false; the bit is the value */ \
	X(TEXT)     /* const char *, default NULL; length and bytes */ \
	X(PART)     /* a pointer to one struct, default NULL */ \
	X(ROWS)     /* a pointer to `count` structs, default NULL or none */ \
	X(COUNTS)   /* a pointer to HISTOGRAM_BUCKETS numbers, default NULL; runs of zeros are left out */ \
	X(OWN_COUNTS) /* the same as an array of its own; default all 0 */

enum field_type {
#define FIELD_ID(id) FIELD_##id,
	FIELD_TYPES(FIELD_ID)
#undef FIELD_ID
};

struct layout;

struct field {
	enum field_type type;
	uint16_t offset;
	uint16_t count_offset;     /* ROWS: of the size_t that says how many; SELF: of the duration */
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

/* What stands before a record's fields: bits of what follows. An event's sequence counts on from that of the event
 * before, another's from 0. */
enum { PLACE_RUN = 1, PLACE_LANE = 2, PLACE_SEQUENCE = 4, PLACE_TIME = 8, PLACE_EVENT = 16 };

/* Of a record of this kind without kind, run, lane, sequence and time, which all have. */
extern const struct layout record_layouts[RECORD_KIND_COUNT];

#endif
