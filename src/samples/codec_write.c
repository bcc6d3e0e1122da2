#include "src/samples/codec_write.h"

#include <math.h>

#include "src/base/formats/bytes.h"
#include "src/samples/codec.h"
#include "src/samples/layout.h"

/* Records are encoded relative to this state. */
struct writer {
	struct buffer *out;
	int64_t time_ns;
	unsigned run, lane;
	uint64_t sequence;
	uint32_t metric; /* prediction: the previous figure's plus 1 */
	int32_t instance;
};

/* Enough for a record's mask and all fields of a struct except texts, rows and counts, which reserve more. */
enum { STRUCT_ROOM = (LAYOUT_FIELDS_MAX + 8) * VARINT_MAX };

static bool has_room(struct buffer *out, size_t more)
{
	return out->capacity - out->length > more || buffer_reserve(out, more);
}

/* The callers of these two have reserved room. */
static void add_varint(struct buffer *out, uint64_t value)
{
	char *at = out->data + out->length;
	out->length += (size_t)((char *)put_varint((unsigned char *)at, value) - at);
}

static void add_little(struct buffer *out, uint64_t value, size_t size)
{
	put_little((unsigned char *)out->data + out->length, value, size);
	out->length += size;
}

/* -- fields -- */

static const void *pointer_at(const void *member)
{
	const void *pointer;
	memcpy(&pointer, member, sizeof pointer);
	return pointer;
}

static size_t size_at(const void *member)
{
	size_t size;
	memcpy(&size, member, sizeof size);
	return size;
}

static uint64_t unsigned_at(enum field_type type, const void *member)
{
	uint16_t small;
	uint32_t middle;
	uint64_t large;
	switch (type) {
	case FIELD_U8: return *(const uint8_t *)member;
	case FIELD_U16: memcpy(&small, member, sizeof small); return small;
	case FIELD_U32: memcpy(&middle, member, sizeof middle); return middle;
	default: memcpy(&large, member, sizeof large); return large;
	}
}

/* A whole number is encoded as its zigzag doubled plus one (odd), any other as 0 and eight bytes. */
static void add_double(struct buffer *out, double value)
{
	uint64_t bits;
	bool is_whole = fabs(value) < 0x1p52 && value == (double)(int64_t)value && !(value == 0 && signbit(value));
	if (is_whole) {
		add_varint(out, zigzag((int64_t)value) << 1 | 1);
		return;
	}
	memcpy(&bits, &value, sizeof bits);
	add_varint(out, 0);
	add_little(out, bits, sizeof bits);
}

/* Finds the first count from `at` on that is not 0. Most are 0, so it checks two at a time. */
static size_t next_count(const uint32_t *counts, size_t at)
{
	_Static_assert(HISTOGRAM_BUCKETS % 2 == 0, "pairs");
	uint64_t pair;
	if (at % 2 && counts[at])
		return at;
	for (at += at % 2; at < HISTOGRAM_BUCKETS; at += 2) {
		memcpy(&pair, &counts[at], sizeof pair);
		if (pair)
			return counts[at] ? at : at + 1;
	}
	return HISTOGRAM_BUCKETS;
}

/* Encodes the number of non-zero counts, then for each the zeros before it and its value. False: all are zero. */
static bool add_counts(struct buffer *out, const uint32_t *counts)
{
	enum { COUNT_ROOM = 2 };
	size_t at = out->length, numbers = 0;
	out->length += COUNT_ROOM;
	for (size_t from = 0, next; (next = next_count(counts, from)) < HISTOGRAM_BUCKETS; from = next + 1, numbers++) {
		if (!has_room(out, STRUCT_ROOM))
			return false;
		add_varint(out, next - from);
		add_varint(out, counts[next]);
	}
	out->data[at] = (char)(numbers | 0x80);
	out->data[at + 1] = (char)(numbers >> 7);
	return has_room(out, STRUCT_ROOM) && numbers;
}

static void add_struct(struct writer *writer, const struct layout *layout, const char *base);

static bool add_text(struct buffer *out, const char *text)
{
	size_t length = strlen(text);
	if (!buffer_reserve(out, length + STRUCT_ROOM))
		return false;
	add_varint(out, length);
	memcpy(out->data + out->length, text, length);
	out->length += length;
	return true;
}

static bool add_rows(struct writer *writer, const struct field *field, const char *rows, size_t count)
{
	add_varint(writer->out, count);
	for (size_t i = 0; i < count && !writer->out->failed; i++)
		add_struct(writer, field->part, rows + i * field->part->size);
	return has_room(writer->out, STRUCT_ROOM);
}

static bool add_unsigned(struct buffer *out, uint64_t value)
{
	if (value)
		add_varint(out, value);
	return value;
}

static bool add_single(struct buffer *out, const char *member)
{
	uint32_t bits;
	memcpy(&bits, member, sizeof bits);
	add_little(out, bits, sizeof bits);
	return true;
}

/* False: the field has its default value, and nothing was written. */
static bool add_field(struct writer *writer, const struct field *field, const char *base)
{
	struct buffer *out = writer->out;
	const char *member = base + field->offset;
	double number;
	float single;
	int32_t small;
	uint64_t wide;
	uint32_t metric;
	size_t at;
	switch (field->type) {
	case FIELD_U8:
	case FIELD_U16:
	case FIELD_U32:
	case FIELD_U64: return add_unsigned(out, unsigned_at(field->type, member));
	case FIELD_I32: memcpy(&small, member, sizeof small); return add_unsigned(out, zigzag(small));
	case FIELD_I64: return add_unsigned(out, zigzag((int64_t)unsigned_at(FIELD_I64, member)));
	case FIELD_METRIC:
		metric = (uint32_t)unsigned_at(FIELD_U32, member);
		wide = zigzag((int64_t)metric - writer->metric);
		writer->metric = metric + 1;
		return add_unsigned(out, wide);
	case FIELD_INSTANCE:
		memcpy(&small, member, sizeof small);
		wide = zigzag((int64_t)small - writer->instance);
		writer->instance = small;
		return add_unsigned(out, wide);
	case FIELD_TIME:
		wide = unsigned_at(FIELD_TIME, member);
		if (wide)
			add_varint(out, zigzag((int64_t)(wide - (uint64_t)writer->time_ns)));
		return wide;
	case FIELD_DOUBLE:
		memcpy(&number, member, sizeof number);
		if (isnan(number))
			return false;
		add_double(out, number);
		return true;
	case FIELD_FLOAT: memcpy(&single, member, sizeof single); return !isnan(single) && add_single(out, member);
	case FIELD_SELF:
		single = layout_self(field, base);
		return memcmp(&single, member, sizeof single) != 0 && add_single(out, member);
	case FIELD_FLAG: return *(const bool *)member;
	case FIELD_TEXT: return pointer_at(member) && add_text(out, pointer_at(member));
	case FIELD_PART:
		if (!pointer_at(member))
			return false;
		add_struct(writer, field->part, pointer_at(member));
		return has_room(out, STRUCT_ROOM);
	case FIELD_ROWS:
		return pointer_at(member) && size_at(base + field->count_offset) &&
			add_rows(writer, field, pointer_at(member), size_at(base + field->count_offset));
	case FIELD_COUNTS:
		if (pointer_at(member))
			add_counts(out, pointer_at(member));
		return pointer_at(member);
	case FIELD_OWN_COUNTS:
		at = out->length;
		if (add_counts(out, (const uint32_t *)(const void *)member))
			return true;
		out->length = at;
		return false;
	}
	return false;
}

/* The mask is known last, so it reserves the maximum number of bytes. */
static void add_struct(struct writer *writer, const struct layout *layout, const char *base)
{
	struct buffer *out = writer->out;
	size_t at = out->length, size = (layout->count + 6) / 7;
	uint64_t mask = 0;
	if (!has_room(out, STRUCT_ROOM))
		return;
	out->length += size;
	for (size_t i = 0; i < layout->count && !out->failed; i++)
		mask |= (uint64_t)add_field(writer, &layout->fields[i], base) << i;
	for (size_t i = 0; i < size; i++, mask >>= 7)
		out->data[at + i] = (char)(i + 1 < size ? mask | 0x80 : mask);
}

/* -- records -- */

static void add_head(struct writer *writer, const struct record *record)
{
	struct buffer *out = writer->out;
	bool is_event = record->kind >= RECORD_EPOCH_BEGIN;
	uint64_t next = is_event ? writer->sequence + 1 : 0;
	unsigned has = (is_event ? HEAD_EVENT : 0) | (record->run != writer->run ? HEAD_RUN : 0) |
		(record->lane != writer->lane ? HEAD_LANE : 0) | (record->sequence != next ? HEAD_SEQUENCE : 0) |
		(record->time_ns != writer->time_ns ? HEAD_TIME : 0);
	add_varint(out, has);
	if (has & HEAD_RUN)
		add_varint(out, record->run);
	if (has & HEAD_LANE)
		add_varint(out, record->lane);
	if (has & HEAD_SEQUENCE)
		add_varint(out, zigzag((int64_t)(record->sequence - next)));
	if (has & HEAD_TIME)
		add_varint(out, zigzag((int64_t)((uint64_t)record->time_ns - (uint64_t)writer->time_ns)));
	writer->run = record->run;
	writer->lane = record->lane;
	writer->sequence = is_event ? record->sequence : writer->sequence;
	writer->time_ns = record->time_ns;
}

/* The length precedes the body. One byte is reserved for it, which is enough below 128; longer bodies are moved. */
static void add_record(struct writer *writer, const struct record *record)
{
	struct buffer *out = writer->out;
	unsigned char length[VARINT_MAX];
	if (!has_room(out, STRUCT_ROOM))
		return;
	add_varint(out, record->kind);
	size_t at = out->length++;
	add_head(writer, record);
	add_struct(writer, &record_layouts[record->kind], (const char *)record);
	size_t body = out->length - at - 1, more = (size_t)(put_varint(length, body) - length) - 1;
	if (!buffer_reserve(out, more))
		return;
	if (more)
		memmove(out->data + at + 1 + more, out->data + at + 1, body);
	memcpy(out->data + at, length, 1 + more);
	out->length += more;
}

size_t codec_write(const struct sample_set *set, size_t from, size_t max, struct buffer *out)
{
	struct writer writer = { .out = out, .time_ns = set->time_ns };
	size_t begin = out->length;
	for (; from < set->count && out->length - begin < max && !out->failed; from++)
		add_record(&writer, &set->records[from]);
	if (out->data)
		out->data[out->length] = '\0';
	return from;
}

static void add_name(struct buffer *out, const char *name)
{
	if (has_room(out, STRUCT_ROOM))
		add_text(out, name);
}

void codec_write_numbers(struct buffer *out)
{
	if (!has_room(out, STRUCT_ROOM))
		return;
	add_varint(out, RECORD_KIND_COUNT);
	for (size_t i = 0; i < RECORD_KIND_COUNT; i++)
		add_name(out, record_kind_name((enum record_kind)i));
	if (!has_room(out, STRUCT_ROOM))
		return;
	add_varint(out, METRIC_COUNT);
	for (size_t i = 0; i < METRIC_COUNT; i++)
		add_name(out, metric_table[i].name);
}
