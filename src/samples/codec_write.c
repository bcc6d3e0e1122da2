#include <math.h>

#include "src/samples/bytes.h"
#include "src/samples/codec.h"
#include "src/samples/layout.h"

/* What a record's own bytes follow from. */
struct writer {
	struct buffer *out;
	int64_t time_ns;
	unsigned run, lane;
	uint64_t sequence;
};

static void add_varint(struct buffer *out, uint64_t value)
{
	unsigned char bytes[VARINT_MOST];
	buffer_add(out, (const char *)bytes, (size_t)(put_varint(bytes, value) - bytes));
}

static void add_little(struct buffer *out, uint64_t value, size_t size)
{
	unsigned char bytes[8];
	put_little(bytes, value, size);
	buffer_add(out, (const char *)bytes, size);
}

/* -- fields -- */

static const void *pointer_at(const void *place)
{
	const void *pointer;
	memcpy(&pointer, place, sizeof pointer);
	return pointer;
}

static size_t size_at(const void *place)
{
	size_t size;
	memcpy(&size, place, sizeof size);
	return size;
}

static uint64_t unsigned_at(enum field_type type, const void *place)
{
	uint16_t small;
	uint32_t middle;
	uint64_t large;
	switch (type) {
	case FIELD_U8: return *(const uint8_t *)place;
	case FIELD_U16: memcpy(&small, place, sizeof small); return small;
	case FIELD_U32: memcpy(&middle, place, sizeof middle); return middle;
	default: memcpy(&large, place, sizeof large); return large;
	}
}

static bool has_counts(const uint32_t *counts)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (counts[i])
			return true;
	return false;
}

static bool is_default(const struct field *field, const char *base)
{
	const void *place = base + field->offset;
	double number;
	float single;
	int32_t small;
	switch (field->type) {
	case FIELD_U8: case FIELD_U16: case FIELD_U32: case FIELD_U64: case FIELD_I64: case FIELD_TIME:
		return unsigned_at(field->type, place) == 0;
	case FIELD_I32:
		memcpy(&small, place, sizeof small);
		return small == 0;
	case FIELD_DOUBLE:
		memcpy(&number, place, sizeof number);
		return isnan(number);
	case FIELD_FLOAT:
		memcpy(&single, place, sizeof single);
		return isnan(single);
	case FIELD_SELF:
		single = layout_self(field, base);
		return memcmp(&single, place, sizeof single) == 0;
	case FIELD_FLAG:
		return !*(const bool *)place;
	case FIELD_ROWS:
		return !pointer_at(place) || size_at(base + field->count_offset) == 0;
	case FIELD_OWN_COUNTS:
		return !has_counts(place);
	default:
		return !pointer_at(place);
	}
}

/* A whole number is odd: its zigzag doubled, plus one; anything else is 0 and eight bytes. */
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

/* How many zeros, then a number, and so on; the zeros at the end are not written: first how many numbers there are. */
static void add_counts(struct buffer *out, const uint32_t *counts)
{
	size_t numbers = 0, zeros = 0;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		numbers += counts[i] != 0;
	add_varint(out, numbers);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!counts[i]) {
			zeros++;
			continue;
		}
		add_varint(out, zeros);
		add_varint(out, counts[i]);
		zeros = 0;
	}
}

static void add_struct(struct writer *writer, const struct layout *layout, const char *base);

static void add_field(struct writer *writer, const struct field *field, const char *base)
{
	struct buffer *out = writer->out;
	const char *place = base + field->offset;
	double number;
	float single;
	int32_t small;
	uint32_t bits;
	switch (field->type) {
	case FIELD_U8: case FIELD_U16: case FIELD_U32: case FIELD_U64:
		add_varint(out, unsigned_at(field->type, place));
		break;
	case FIELD_I32:
		memcpy(&small, place, sizeof small);
		add_varint(out, zigzag(small));
		break;
	case FIELD_I64:
		add_varint(out, zigzag((int64_t)unsigned_at(FIELD_I64, place)));
		break;
	case FIELD_TIME:
		add_varint(out, zigzag((int64_t)(unsigned_at(FIELD_TIME, place) - (uint64_t)writer->time_ns)));
		break;
	case FIELD_DOUBLE:
		memcpy(&number, place, sizeof number);
		add_double(out, number);
		break;
	case FIELD_FLOAT: case FIELD_SELF:
		memcpy(&single, place, sizeof single);
		memcpy(&bits, &single, sizeof bits);
		add_little(out, bits, sizeof bits);
		break;
	case FIELD_FLAG:
		break;
	case FIELD_TEXT: {
		const char *text = pointer_at(place);
		size_t length = strlen(text);
		add_varint(out, length);
		buffer_add(out, text, length);
		break;
	}
	case FIELD_PART:
		add_struct(writer, field->part, pointer_at(place));
		break;
	case FIELD_ROWS: {
		const char *rows = pointer_at(place);
		size_t count = size_at(base + field->count_offset);
		add_varint(out, count);
		for (size_t i = 0; i < count; i++)
			add_struct(writer, field->part, rows + i * field->part->size);
		break;
	}
	case FIELD_COUNTS:
		add_counts(out, pointer_at(place));
		break;
	case FIELD_OWN_COUNTS:
		add_counts(out, (const uint32_t *)(const void *)place);
		break;
	}
}

static void add_struct(struct writer *writer, const struct layout *layout, const char *base)
{
	uint64_t mask = 0;
	for (size_t i = 0; i < layout->count; i++)
		mask |= (uint64_t)!is_default(&layout->fields[i], base) << i;
	add_varint(writer->out, mask);
	for (size_t i = 0; i < layout->count; i++)
		if (mask >> i & 1)
			add_field(writer, &layout->fields[i], base);
}

/* -- records -- */

static void add_place(struct writer *writer, const struct record *record)
{
	struct buffer *out = writer->out;
	bool is_event = record->kind >= RECORD_EPOCH_BEGIN;
	uint64_t next = is_event ? writer->sequence + 1 : 0;
	unsigned has = (is_event ? PLACE_EVENT : 0) | (record->run != writer->run ? PLACE_RUN : 0) | (record->lane != writer->lane ? PLACE_LANE : 0) |
	               (record->sequence != next ? PLACE_SEQUENCE : 0) | (record->time_ns != writer->time_ns ? PLACE_TIME : 0);
	add_varint(out, has);
	if (has & PLACE_RUN)
		add_varint(out, record->run);
	if (has & PLACE_LANE)
		add_varint(out, record->lane);
	if (has & PLACE_SEQUENCE)
		add_varint(out, zigzag((int64_t)(record->sequence - next)));
	if (has & PLACE_TIME)
		add_varint(out, zigzag((int64_t)((uint64_t)record->time_ns - (uint64_t)writer->time_ns)));
	writer->run = record->run;
	writer->lane = record->lane;
	writer->sequence = is_event ? record->sequence : writer->sequence;
	writer->time_ns = record->time_ns;
}

/* The length stands before what it counts: most are below 128, which is one byte. */
static void add_record(struct writer *writer, const struct record *record)
{
	struct buffer *out = writer->out;
	unsigned char length[VARINT_MOST];
	add_varint(out, record->kind);
	size_t at = out->length;
	buffer_add(out, "", 1);
	add_place(writer, record);
	add_struct(writer, &record_layouts[record->kind], (const char *)record);
	if (out->failed)
		return;
	size_t body = out->length - at - 1, more = (size_t)(put_varint(length, body) - length) - 1;
	buffer_add(out, (const char *)length, more);
	if (out->failed)
		return;
	if (more)
		memmove(out->data + at + 1 + more, out->data + at + 1, body);
	memcpy(out->data + at, length, 1 + more);
}

size_t codec_write(const struct sample_set *set, size_t from, size_t most, struct buffer *out)
{
	struct writer writer = { .out = out, .time_ns = set->time_ns };
	size_t begin = out->length;
	for (; from < set->count && out->length - begin < most && !out->failed; from++)
		add_record(&writer, &set->records[from]);
	return from;
}

void codec_write_numbers(struct buffer *out)
{
	add_varint(out, RECORD_KIND_COUNT);
	for (size_t i = 0; i < RECORD_KIND_COUNT; i++) {
		const char *name = record_kind_name((enum record_kind)i);
		add_varint(out, strlen(name));
		buffer_puts(out, name);
	}
	add_varint(out, METRIC_COUNT);
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		add_varint(out, strlen(metric_table[i].name));
		buffer_puts(out, metric_table[i].name);
	}
}
