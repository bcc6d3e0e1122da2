#include "src/samples/codec_read.h"

#include <math.h>

#include "src/base/formats/bytes.h"
#include "src/samples/codec.h"
#include "src/samples/layout.h"

struct reader {
	struct bytes bytes;
	const struct codec_numbers *numbers;
	struct sample_set *set;
	int64_t time_ns;
	unsigned run, lane;
	uint64_t sequence;
	uint32_t metric; /* prediction: the previous figure's plus 1 */
	int32_t instance;
};

/* -- fields -- */

static void put_unsigned(enum field_type type, void *member, uint64_t value)
{
	uint16_t small = (uint16_t)value;
	uint32_t middle = (uint32_t)value;
	switch (type) {
	case FIELD_U8: *(uint8_t *)member = (uint8_t)value; break;
	case FIELD_U16: memcpy(member, &small, sizeof small); break;
	case FIELD_U32: memcpy(member, &middle, sizeof middle); break;
	default: memcpy(member, &value, sizeof value); break;
	}
}

/* Limits times and durations to 73 years, so that no difference of two overflows. */
static int64_t checked_ns(struct bytes *bytes, int64_t value)
{
	bytes->failed |= value > CODEC_TIME_MAX || value < -CODEC_TIME_MAX;
	return bytes->failed ? 0 : value;
}

static void put_metric(struct reader *reader, char *member, int64_t difference)
{
	uint32_t metric = (uint32_t)(reader->metric + (uint64_t)difference);
	memcpy(member, &metric, sizeof metric);
	reader->metric = metric + 1;
}

static void put_instance(struct reader *reader, char *member, int64_t difference)
{
	reader->instance = (int32_t)(uint32_t)((uint64_t)reader->instance + (uint64_t)difference);
	memcpy(member, &reader->instance, sizeof reader->instance);
}

static void set_default(struct reader *reader, const struct field *field, char *base)
{
	const double unknown = (double)NAN;
	const float unknown_single = NAN;
	if (field->type == FIELD_DOUBLE)
		memcpy(base + field->offset, &unknown, sizeof unknown);
	else if (field->type == FIELD_FLOAT)
		memcpy(base + field->offset, &unknown_single, sizeof unknown_single);
	else if (field->type == FIELD_SELF)
		memcpy(base + field->offset, &(float){ layout_self(field, base) }, sizeof(float));
	else if (field->type == FIELD_METRIC)
		put_metric(reader, base + field->offset, 0);
	else if (field->type == FIELD_INSTANCE)
		put_instance(reader, base + field->offset, 0);
}

static double get_double(struct bytes *bytes)
{
	double value;
	uint64_t head = get_varint(bytes);
	if (head & 1)
		return (double)unzigzag(head >> 1);
	uint64_t bits = get_little(bytes, sizeof bits);
	memcpy(&value, &bits, sizeof value);
	return value;
}

static void get_counts(struct bytes *bytes, uint32_t *counts)
{
	size_t at = 0;
	for (uint64_t numbers = get_varint(bytes); numbers > 0 && !bytes->failed; numbers--) {
		uint64_t zeros = get_varint(bytes), count = get_varint(bytes);
		if (bytes->failed || zeros >= HISTOGRAM_BUCKETS - at || count > UINT32_MAX) {
			bytes->failed = true;
			return;
		}
		at += (size_t)zeros;
		counts[at++] = (uint32_t)count;
		if (at == HISTOGRAM_BUCKETS && numbers > 1)
			bytes->failed = true;
	}
}

/* A few malicious bytes could expand to a thousand times as many. */
static bool has_room(struct reader *reader, size_t size)
{
	const struct sample_set *set = reader->set;
	size_t used = set->allocated + set->count * sizeof *set->records;
	if (used <= CODEC_SET_MAX && size <= CODEC_SET_MAX - used)
		return true;
	reader->set->failed = reader->bytes.failed = true;
	return false;
}

static void get_text(struct reader *reader, char *member)
{
	uint64_t length = get_varint(&reader->bytes);
	const unsigned char *text = get_bytes(&reader->bytes, length);
	const char *copy = text && has_room(reader, (size_t)length)
		? sample_set_text(reader->set, (const char *)text, (size_t)length)
		: "";
	memcpy(member, &copy, sizeof copy);
}

static void get_struct(struct reader *reader, const struct layout *layout, char *base);

static void *allocate(struct reader *reader, size_t size)
{
	void *room = has_room(reader, size) ? sample_set_allocate(reader->set, size) : NULL;
	if (!room)
		reader->bytes.failed = true;
	return room;
}

/* A row takes at least one byte, so a count larger than the bytes left is malformed. */
static void get_rows(struct reader *reader, const struct field *field, char *base)
{
	uint64_t count = get_varint(&reader->bytes);
	if (count > (uint64_t)(reader->bytes.end - reader->bytes.at)) {
		reader->bytes.failed = true;
		return;
	}
	size_t rows_count = (size_t)count;
	char *rows = allocate(reader, rows_count * field->part->size);
	if (!rows)
		return;
	for (size_t i = 0; i < rows_count && !reader->bytes.failed; i++)
		get_struct(reader, field->part, rows + i * field->part->size);
	memcpy(base + field->offset, &rows, sizeof rows);
	memcpy(base + field->count_offset, &rows_count, sizeof rows_count);
}

static void get_field(struct reader *reader, const struct field *field, char *base)
{
	struct bytes *bytes = &reader->bytes;
	char *member = base + field->offset, *part;
	double number;
	uint32_t bits;
	int32_t small;
	switch (field->type) {
	case FIELD_U8:
	case FIELD_U16:
	case FIELD_U32:
	case FIELD_U64: put_unsigned(field->type, member, get_varint(bytes)); break;
	case FIELD_I32:
		small = (int32_t)unzigzag(get_varint(bytes));
		memcpy(member, &small, sizeof small);
		break;
	case FIELD_I64: put_unsigned(FIELD_I64, member, (uint64_t)checked_ns(bytes, unzigzag(get_varint(bytes)))); break;
	case FIELD_METRIC: put_metric(reader, member, unzigzag(get_varint(bytes))); break;
	case FIELD_INSTANCE: put_instance(reader, member, unzigzag(get_varint(bytes))); break;
	case FIELD_TIME:
		put_unsigned(FIELD_TIME, member,
			(uint64_t)checked_ns(bytes, (int64_t)((uint64_t)unzigzag(get_varint(bytes)) + (uint64_t)reader->time_ns)));
		break;
	case FIELD_DOUBLE:
		number = get_double(bytes);
		memcpy(member, &number, sizeof number);
		break;
	case FIELD_FLOAT:
	case FIELD_SELF:
		bits = (uint32_t)get_little(bytes, sizeof bits);
		memcpy(member, &bits, sizeof bits);
		break;
	case FIELD_FLAG: *(bool *)member = true; break;
	case FIELD_TEXT: get_text(reader, member); break;
	case FIELD_PART:
		part = allocate(reader, field->part->size);
		if (part)
			get_struct(reader, field->part, part);
		memcpy(member, &part, sizeof part);
		break;
	case FIELD_ROWS: get_rows(reader, field, base); break;
	case FIELD_COUNTS:
		part = allocate(reader, HISTOGRAM_BUCKETS * sizeof(uint32_t));
		if (part)
			get_counts(bytes, (uint32_t *)(void *)part);
		memcpy(member, &part, sizeof part);
		break;
	case FIELD_OWN_COUNTS: get_counts(bytes, (uint32_t *)(void *)member); break;
	}
}

static void get_struct(struct reader *reader, const struct layout *layout, char *base)
{
	uint64_t mask = get_varint(&reader->bytes);
	for (size_t i = 0; i < layout->count; i++)
		if (mask >> i & 1 && !reader->bytes.failed)
			get_field(reader, &layout->fields[i], base);
		else
			set_default(reader, &layout->fields[i], base);
}

/* -- records -- */

/* Reads run, lane, sequence and time; returns the sequence. */
static uint64_t get_head(struct reader *reader)
{
	struct bytes *bytes = &reader->bytes;
	uint64_t has = get_varint(bytes);
	uint64_t sequence = has & HEAD_EVENT ? reader->sequence + 1 : 0;
	uint64_t run = has & HEAD_RUN ? get_varint(bytes) : reader->run;
	uint64_t lane = has & HEAD_LANE ? get_varint(bytes) : reader->lane;
	bytes->failed |= run > UINT8_MAX || lane > UINT16_MAX;
	reader->run = (uint8_t)run;
	reader->lane = (uint16_t)lane;
	if (has & HEAD_SEQUENCE)
		sequence += (uint64_t)unzigzag(get_varint(bytes));
	if (has & HEAD_EVENT)
		reader->sequence = sequence;
	if (has & HEAD_TIME)
		reader->time_ns =
			checked_ns(bytes, (int64_t)((uint64_t)reader->time_ns + (uint64_t)unzigzag(get_varint(bytes))));
	return sequence;
}

/* Has the record all fields that readers rely on? */
static bool is_whole(const struct record *record)
{
	switch ((enum record_kind)record->kind) {
	case RECORD_STATE: return record->state;
	case RECORD_TOTAL: return record->total && record->total->kind <= TOTAL_SPAN;
	case RECORD_WORKER: return record->worker;
	case RECORD_EVIDENCE: return record->evidence;
	case RECORD_NAME: return record->name.text;
	case RECORD_META: return record->meta.key && record->meta.value;
	case RECORD_RUN_CLOSED:
	case RECORD_WORKER_GONE:
	case RECORD_MARK: return record->text;
	case RECORD_CODE: return record->code.function && record->code.file;
	case RECORD_CODE_GROUP: return record->code_group.python;
	case RECORD_MISSING: return record->missing.figure;
	case RECORD_PROCESS_SEEN:
	case RECORD_PROCESS_REPLACED: return record->process.command;
	case RECORD_PROCESS_WAIT: return record->wait.text;
	case RECORD_RUN_OPENED: return record->opened.name && record->opened.uuid && record->opened.abi;
	default: return true;
	}
}

/* Converts the metric from the stream's number. */
static bool take_metric(const struct codec_numbers *numbers, enum metric *metric)
{
	unsigned number = (unsigned)*metric;
	if (number >= CODEC_NUMBERS_MAX || numbers->metrics[number] < 0)
		return false;
	*metric = (enum metric)numbers->metrics[number];
	return true;
}

static bool take_metrics(const struct codec_numbers *numbers, struct record *record)
{
	if (record->kind == RECORD_FIGURE)
		return take_metric(numbers, &record->figure.metric);
	return record->kind != RECORD_INSTANCE || (take_metric(numbers, &record->instance.metric) && record->instance.name);
}

static void get_record(struct reader *reader, uint64_t number, uint64_t *unknown)
{
	int kind = number < CODEC_NUMBERS_MAX ? reader->numbers->kinds[number] : -1;
	size_t count = reader->set->count;
	uint64_t sequence = get_head(reader);
	if (reader->bytes.failed || kind < 0) {
		*unknown += kind < 0;
		return;
	}
	struct record *record = !has_room(reader, sizeof *record)
		? NULL
		: sample_set_add(reader->set, (enum record_kind)kind, reader->run, reader->time_ns);
	if (!record) {
		reader->bytes.failed = true;
		return;
	}
	record->lane = (uint16_t)reader->lane;
	record->sequence = sequence;
	get_struct(reader, &record_layouts[kind], (char *)record);
	if (!reader->bytes.failed && is_whole(record) && take_metrics(reader->numbers, record))
		return;
	*unknown += !reader->bytes.failed;
	reader->set->count = count;
}

bool codec_read(const unsigned char *bytes, size_t length, const struct codec_numbers *numbers, int64_t time_ns,
	struct sample_set *set, uint64_t *unknown)
{
	struct reader reader = {
		.bytes = { bytes, bytes + length, false }, .numbers = numbers, .set = set, .time_ns = time_ns
	};
	checked_ns(&reader.bytes, time_ns);
	while (reader.bytes.at < reader.bytes.end && !reader.bytes.failed) {
		uint64_t number = get_varint(&reader.bytes), size = get_varint(&reader.bytes);
		const unsigned char *body = get_bytes(&reader.bytes, size);
		if (!body)
			break;
		const struct bytes rest = reader.bytes;
		reader.bytes = (struct bytes){ body, body + size, rest.failed };
		get_record(&reader, number, unknown);
		reader.bytes = (struct bytes){ rest.at, rest.end, reader.bytes.failed };
	}
	return !reader.bytes.failed;
}

/* -- numbers of kinds and metrics -- */

typedef const char *(*name_of)(size_t i);

static const char *kind_name(size_t i) { return record_kind_name((enum record_kind)i); }
static const char *metric_name(size_t i) { return metric_table[i].name; }

static void get_names(struct bytes *bytes, name_of own, size_t own_count, int16_t *out)
{
	uint64_t count = get_varint(bytes);
	for (uint64_t i = 0; i < count && !bytes->failed; i++) {
		uint64_t length = get_varint(bytes);
		const char *text = (const char *)get_bytes(bytes, length);
		for (size_t k = 0; text && i < CODEC_NUMBERS_MAX && k < own_count; k++)
			if (strlen(own(k)) == length && memcmp(own(k), text, length) == 0)
				out[i] = (int16_t)k;
	}
}

bool codec_read_numbers(const unsigned char *bytes, size_t length, struct codec_numbers *out)
{
	struct bytes rest = { bytes, bytes + length, false };
	memset(out, 0xff, sizeof *out);
	get_names(&rest, kind_name, RECORD_KIND_COUNT, out->kinds);
	get_names(&rest, metric_name, METRIC_COUNT, out->metrics);
	return !rest.failed;
}

void codec_own_numbers(struct codec_numbers *out)
{
	_Static_assert(
		(int)RECORD_KIND_COUNT <= CODEC_NUMBERS_MAX && (int)METRIC_COUNT <= CODEC_NUMBERS_MAX, "a number for each");
	memset(out, 0xff, sizeof *out);
	for (size_t i = 0; i < RECORD_KIND_COUNT; i++)
		out->kinds[i] = (int16_t)i;
	for (size_t i = 0; i < METRIC_COUNT; i++)
		out->metrics[i] = (int16_t)i;
}
