#include "src/trace/snapshot/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "src/trace/reading/profile_input.h"

/* PyTorch's snapshots nest 5 deep; pickle appends at most 1000 items at once, PyTorch's own writer in C++ all of them.
 */
enum { MARKS_MAX = 256, VALUES_MAX = 1 << 24, MEMO_MAX = PICKLE_ID_MAX, TEXT_KEPT = 4096 };
enum { PROTOCOL_MIN = 2, PROTOCOL_MAX = 5 };

struct reader {
	struct profile_input *input;
	size_t at; /* in input->data */
	uint64_t opcode_offset;
	const struct pickle_maker *maker;
	struct pickle_value *values;
	size_t count, capacity;
	size_t marks[MARKS_MAX]; /* the count of values below each mark */
	size_t mark_count;
	uint32_t *memo; /* kind << 29 | number */
	size_t memo_count, memo_capacity;
	bool is_cut, is_done;
	enum status failed;
	struct reason *why_not;
};

struct opcode {
	const char *name;
	size_t size; /* of its argument, a little-endian number */
	void (*run)(struct reader *reader, uint64_t argument);
};

/* -- bytes -- */

static uint64_t offset_at(const struct reader *reader) { return reader->input->offset + reader->at; }

static bool fill(struct reader *reader)
{
	uint64_t before = reader->input->offset;
	bool has_more = profile_input_fill(reader->input, reader->at);
	reader->at -= (size_t)(reader->input->offset - before);
	return has_more;
}

/* Whether `size` more bytes, at most TEXT_KEPT, are in the buffer; otherwise the file is cut off. */
static bool has_bytes(struct reader *reader, size_t size)
{
	while (reader->input->length - reader->at < size)
		if (!fill(reader)) {
			reader->is_cut = true;
			return false;
		}
	return true;
}

static void skip(struct reader *reader, uint64_t size)
{
	while (size && !reader->is_cut) {
		size_t left = reader->input->length - reader->at;
		size_t now = size < left ? (size_t)size : left;
		reader->at += now;
		size -= now;
		if (size && !fill(reader))
			reader->is_cut = true;
	}
}

static const unsigned char *bytes_at(const struct reader *reader)
{
	return (const unsigned char *)reader->input->data + reader->at;
}

static uint64_t little_endian(const unsigned char *bytes, size_t size)
{
	uint64_t number = 0;
	while (size-- > 0)
		number = number << 8 | bytes[size];
	return number;
}

/* -- failures -- */

#define COPY_AGAIN "copy the file again, or take a new snapshot"

static void fail(struct reader *reader, enum status status, const char *what)
{
	if (!reader->failed)
		reader->failed = reason_set(
			reader->why_not, status, COPY_AGAIN, "%s at byte %llu", what, (unsigned long long)reader->opcode_offset);
}

static void fail_memory(struct reader *reader)
{
	if (!reader->failed)
		reader->failed = reason_set(reader->why_not, STATUS_NO_MEMORY, NULL, "out of memory");
}

/* -- values -- */

static void push(struct reader *reader, uint32_t kind, int64_t number)
{
	if (reader->count == reader->capacity) {
		size_t capacity = reader->capacity ? reader->capacity * 2 : 4096;
		struct pickle_value *grown = capacity <= VALUES_MAX ? realloc(reader->values, capacity * sizeof *grown) : NULL;
		if (!grown && capacity > VALUES_MAX) {
			fail(reader, STATUS_UNSUPPORTED, "more than 16 million values are open");
			return;
		}
		if (!grown) {
			fail_memory(reader);
			return;
		}
		reader->values = grown;
		reader->capacity = capacity;
	}
	reader->values[reader->count++] = (struct pickle_value){ .kind = kind, .number = number };
}

/* The number of values below the innermost mark, which a value cannot be taken from. */
static size_t floor_of(const struct reader *reader)
{
	return reader->mark_count ? reader->marks[reader->mark_count - 1] : 0;
}

/* Takes `count` values off; false: so many are not there. */
static bool drop(struct reader *reader, size_t count)
{
	if (reader->count - floor_of(reader) < count) {
		fail(reader, STATUS_DAMAGED, "a value is missing");
		return false;
	}
	reader->count -= count;
	return true;
}

/* Takes the innermost mark off, with the values above it, which stay readable at values + count. */
static bool take_mark(struct reader *reader, size_t *above)
{
	if (!reader->mark_count) {
		fail(reader, STATUS_DAMAGED, "a mark is missing");
		return false;
	}
	size_t mark = reader->marks[--reader->mark_count];
	*above = reader->count - mark;
	reader->count = mark;
	return true;
}

static void update_memo(struct reader *reader, const struct pickle_value *value)
{
	bool is_kept = value->kind < PICKLE_INT && (value->kind != PICKLE_LIST || !value->number);
	if (value->memo)
		reader->memo[value->memo - 1] = is_kept ? value->kind << 29 | (uint32_t)value->number : PICKLE_OTHER;
}

static void put(struct reader *reader, uint64_t index)
{
	if (reader->count <= floor_of(reader)) {
		fail(reader, STATUS_DAMAGED, "a value is missing");
		return;
	}
	/* Writers number what they put in order; a gap would need memory for nothing. */
	if (index > reader->memo_count || index >= MEMO_MAX) {
		fail(reader, STATUS_DAMAGED, "the memo has a gap");
		return;
	}
	if (index == reader->memo_capacity) {
		size_t capacity = reader->memo_capacity ? reader->memo_capacity * 2 : 4096;
		uint32_t *grown = realloc(reader->memo, capacity * sizeof *grown);
		if (!grown) {
			fail_memory(reader);
			return;
		}
		reader->memo = grown;
		reader->memo_capacity = capacity;
	}
	reader->memo_count += index == reader->memo_count;
	struct pickle_value *top = &reader->values[reader->count - 1];
	top->memo = (uint32_t)index + 1;
	update_memo(reader, top);
}

static void get(struct reader *reader, uint64_t index)
{
	if (index >= reader->memo_count) {
		fail(reader, STATUS_DAMAGED, "the memo has no such entry");
		return;
	}
	push(reader, reader->memo[index] >> 29, reader->memo[index] & PICKLE_ID_MAX);
}

static void append(struct reader *reader, size_t count)
{
	if (reader->count <= floor_of(reader)) {
		fail(reader, STATUS_DAMAGED, "a list is missing");
		return;
	}
	struct pickle_value *list = &reader->values[reader->count - 1], *items = list + 1;
	if (!reader->maker->list(reader->maker->context, list, items, count))
		fail_memory(reader);
	update_memo(reader, list);
}

static void set_items(struct reader *reader, size_t count)
{
	if (reader->count <= floor_of(reader) || count % 2) {
		fail(reader, STATUS_DAMAGED, "a dictionary is missing");
		return;
	}
	struct pickle_value *dict = &reader->values[reader->count - 1], *pairs = dict + 1;
	if (!reader->maker->dict(reader->maker->context, dict, pairs, count / 2))
		fail_memory(reader);
	update_memo(reader, dict);
}

/* -- opcodes -- */

static void run_proto(struct reader *reader, uint64_t protocol)
{
	if (protocol < PROTOCOL_MIN || protocol > PROTOCOL_MAX)
		fail(reader, STATUS_UNSUPPORTED, "the pickle has a protocol that is not 2 to 5");
}

static void run_nothing(struct reader *reader, uint64_t argument) { (void)reader, (void)argument; }

static void run_stop(struct reader *reader, uint64_t argument)
{
	(void)argument;
	reader->is_done = true;
}

static void run_mark(struct reader *reader, uint64_t argument)
{
	(void)argument;
	if (reader->mark_count == MARKS_MAX)
		fail(reader, STATUS_UNSUPPORTED, "values are nested more than 256 deep");
	else
		reader->marks[reader->mark_count++] = reader->count;
}

static void run_other(struct reader *reader, uint64_t argument)
{
	(void)argument;
	push(reader, PICKLE_OTHER, 0);
}

static void run_list(struct reader *reader, uint64_t argument)
{
	(void)argument;
	push(reader, PICKLE_LIST, 0);
}

static void run_dict(struct reader *reader, uint64_t argument)
{
	(void)argument;
	push(reader, PICKLE_DICT, 0);
}

static void run_unsigned(struct reader *reader, uint64_t number) { push(reader, PICKLE_INT, (int64_t)number); }
static void run_int(struct reader *reader, uint64_t number) { push(reader, PICKLE_INT, (int32_t)(uint32_t)number); }

static void run_true(struct reader *reader, uint64_t argument)
{
	(void)argument;
	push(reader, PICKLE_INT, 1);
}

static void run_false(struct reader *reader, uint64_t argument)
{
	(void)argument;
	push(reader, PICKLE_INT, 0);
}

/* Two's complement of any length: up to 64 bits are read, addresses above 2^63 have one byte more. */
static void run_long(struct reader *reader, uint64_t size)
{
	if (size > 9) {
		skip(reader, size);
		push(reader, PICKLE_OTHER, 0);
		return;
	}
	if (!has_bytes(reader, (size_t)size))
		return;
	const unsigned char *bytes = bytes_at(reader);
	uint64_t number = little_endian(bytes, size < 8 ? (size_t)size : 8);
	if (size && size < 8 && bytes[size - 1] & 0x80)
		number |= ~(uint64_t)0 << (8 * size);
	push(reader, size == 9 && bytes[8] ? PICKLE_OTHER : PICKLE_INT, (int64_t)number);
	reader->at += (size_t)size;
}

static void run_bytes(struct reader *reader, uint64_t size)
{
	skip(reader, size);
	push(reader, PICKLE_OTHER, 0);
}

static void run_text(struct reader *reader, uint64_t size)
{
	size_t kept = size < TEXT_KEPT ? (size_t)size : TEXT_KEPT;
	uint32_t id;
	if (!has_bytes(reader, kept))
		return;
	if (!reader->maker->text(reader->maker->context, (const char *)bytes_at(reader), kept, &id)) {
		fail_memory(reader);
		return;
	}
	reader->at += kept;
	skip(reader, size - kept);
	push(reader, PICKLE_TEXT, id);
}

static void run_tuple(struct reader *reader, uint64_t argument)
{
	size_t above;
	(void)argument;
	if (take_mark(reader, &above))
		push(reader, PICKLE_OTHER, 0);
}

static void tuple_of(struct reader *reader, size_t count)
{
	if (drop(reader, count))
		push(reader, PICKLE_OTHER, 0);
}

static void run_tuple1(struct reader *reader, uint64_t argument) { tuple_of(reader, 1 + (size_t)argument); }
static void run_tuple2(struct reader *reader, uint64_t argument) { tuple_of(reader, 2 + (size_t)argument); }
static void run_tuple3(struct reader *reader, uint64_t argument) { tuple_of(reader, 3 + (size_t)argument); }

static void run_pop(struct reader *reader, uint64_t argument)
{
	(void)argument;
	drop(reader, 1);
}

static void run_pop_mark(struct reader *reader, uint64_t argument)
{
	size_t above;
	(void)argument;
	take_mark(reader, &above);
}

static void run_memoize(struct reader *reader, uint64_t argument)
{
	(void)argument;
	put(reader, reader->memo_count);
}

static void run_append(struct reader *reader, uint64_t argument)
{
	(void)argument;
	if (drop(reader, 1))
		append(reader, 1);
}

static void run_appends(struct reader *reader, uint64_t argument)
{
	size_t above;
	(void)argument;
	if (take_mark(reader, &above))
		append(reader, above);
}

static void run_setitem(struct reader *reader, uint64_t argument)
{
	(void)argument;
	if (drop(reader, 2))
		set_items(reader, 2);
}

static void run_setitems(struct reader *reader, uint64_t argument)
{
	size_t above;
	(void)argument;
	if (take_mark(reader, &above))
		set_items(reader, above);
}

/* Those without a function would run code, or refer to what only a program can supply. */
static const struct opcode opcodes[256] = {
	[0x80] = { "PROTO", 1, run_proto },
	[0x95] = { "FRAME", 8, run_nothing },
	['.'] = { "STOP", 0, run_stop },
	['('] = { "MARK", 0, run_mark },
	['0'] = { "POP", 0, run_pop },
	['1'] = { "POP_MARK", 0, run_pop_mark },
	['N'] = { "NONE", 0, run_other },
	[0x88] = { "NEWTRUE", 0, run_true },
	[0x89] = { "NEWFALSE", 0, run_false },
	['J'] = { "BININT", 4, run_int },
	['K'] = { "BININT1", 1, run_unsigned },
	['M'] = { "BININT2", 2, run_unsigned },
	[0x8a] = { "LONG1", 1, run_long },
	[0x8b] = { "LONG4", 4, run_long },
	['G'] = { "BINFLOAT", 8, run_other },
	[0x8c] = { "SHORT_BINUNICODE", 1, run_text },
	['X'] = { "BINUNICODE", 4, run_text },
	[0x8d] = { "BINUNICODE8", 8, run_text },
	['C'] = { "SHORT_BINBYTES", 1, run_bytes },
	['B'] = { "BINBYTES", 4, run_bytes },
	[0x8e] = { "BINBYTES8", 8, run_bytes },
	[0x96] = { "BYTEARRAY8", 8, run_bytes },
	['U'] = { "SHORT_BINSTRING", 1, run_bytes },
	['T'] = { "BINSTRING", 4, run_bytes },
	[']'] = { "EMPTY_LIST", 0, run_list },
	['}'] = { "EMPTY_DICT", 0, run_dict },
	[')'] = { "EMPTY_TUPLE", 0, run_other },
	[0x8f] = { "EMPTY_SET", 0, run_other },
	[0x90] = { "ADDITEMS", 0, run_pop_mark },
	[0x91] = { "FROZENSET", 0, run_tuple },
	['t'] = { "TUPLE", 0, run_tuple },
	[0x85] = { "TUPLE1", 0, run_tuple1 },
	[0x86] = { "TUPLE2", 0, run_tuple2 },
	[0x87] = { "TUPLE3", 0, run_tuple3 },
	['a'] = { "APPEND", 0, run_append },
	['e'] = { "APPENDS", 0, run_appends },
	['s'] = { "SETITEM", 0, run_setitem },
	['u'] = { "SETITEMS", 0, run_setitems },
	['q'] = { "BINPUT", 1, put },
	['r'] = { "LONG_BINPUT", 4, put },
	[0x94] = { "MEMOIZE", 0, run_memoize },
	['h'] = { "BINGET", 1, get },
	['j'] = { "LONG_BINGET", 4, get },
	['c'] = { .name = "GLOBAL" },
	[0x93] = { .name = "STACK_GLOBAL" },
	['R'] = { .name = "REDUCE" },
	['b'] = { .name = "BUILD" },
	['i'] = { .name = "INST" },
	['o'] = { .name = "OBJ" },
	[0x81] = { .name = "NEWOBJ" },
	[0x92] = { .name = "NEWOBJ_EX" },
	[0x82] = { .name = "EXT1" },
	[0x83] = { .name = "EXT2" },
	[0x84] = { .name = "EXT4" },
	['P'] = { .name = "PERSID" },
	['Q'] = { .name = "BINPERSID" },
	[0x97] = { .name = "NEXT_BUFFER" },
	[0x98] = { .name = "READONLY_BUFFER" },
};

static void refuse(struct reader *reader, unsigned char byte, const struct opcode *opcode)
{
	if (opcode->name)
		reader->failed =
			reason_set(reader->why_not, STATUS_UNSUPPORTED, "torch.cuda.memory._dump_snapshot() writes one",
				"refused: opcode %s at byte %llu would run code or load an object; a memory snapshot is plain data",
				opcode->name, (unsigned long long)reader->opcode_offset);
	else
		reader->failed = reason_set(reader->why_not, STATUS_DAMAGED, COPY_AGAIN,
			"byte %llu (0x%02x) is no opcode of a pickle of data", (unsigned long long)reader->opcode_offset, byte);
}

static void step(struct reader *reader)
{
	reader->opcode_offset = offset_at(reader);
	if (!has_bytes(reader, 1))
		return;
	unsigned char byte = *bytes_at(reader);
	const struct opcode *opcode = &opcodes[byte];
	if (!opcode->run) {
		refuse(reader, byte, opcode);
		return;
	}
	if (!has_bytes(reader, 1 + opcode->size))
		return;
	uint64_t argument = little_endian(bytes_at(reader) + 1, opcode->size);
	reader->at += 1 + opcode->size;
	opcode->run(reader, argument);
}

/* The file is cut off: closes what is open, from inside out, so that the maker gets what stands before the cut. */
static void close_open(struct reader *reader)
{
	while (reader->mark_count && !reader->failed) {
		size_t above;
		take_mark(reader, &above);
		uint32_t kind = reader->count > floor_of(reader) ? reader->values[reader->count - 1].kind : PICKLE_OTHER;
		if (kind == PICKLE_DICT)
			set_items(reader, above / 2 * 2);
		else if (kind == PICKLE_LIST || kind == PICKLE_SHARED || kind >= PICKLE_OWN)
			append(reader, above);
	}
}

bool pickle_is_begun(const struct profile_input *input)
{
	const unsigned char *bytes = (const unsigned char *)input->data;
	return input->length >= 2 && bytes[0] == 0x80 && bytes[1] <= 9;
}

enum status pickle_read(
	struct profile_input *input, const struct pickle_maker *maker, struct pickle_end *end, struct reason *why_not)
{
	struct reader reader = { .input = input, .maker = maker, .why_not = why_not };
	while (!reader.is_done && !reader.failed && !reader.is_cut)
		step(&reader);
	if (reader.is_cut)
		close_open(&reader);
	*end = (struct pickle_end){ .offset = offset_at(&reader), .is_cut = reader.is_cut };
	end->has_more = reader.is_done && (reader.at < input->length || profile_input_fill(input, reader.at));
	if (input->failed)
		end->why_cut = input->why_not;
	free(reader.values);
	free(reader.memo);
	return reader.failed;
}
