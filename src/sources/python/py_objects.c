#include "src/sources/python/py_objects.h"

#include <string.h>

#include "src/sources/python/remote.h"

/* How an instance stores its attributes. */
enum storage {
	DICT_AT_OFFSET, /* tp_dictoffset; also used in later versions for classes derived from a C class */
	VALUES_OR_DICT, /* 3.11: two words before the object, one of which is set */
	TAGGED_WORD,    /* 3.12: one word, whose lowest bit means that it points to the values, one byte before them */
	VALUES_WITHIN,  /* since 3.13: after its other fields, if their own header says so; a dict may share them */
};

/* From CPython: Include/cpython/object.h (types), Include/cpython/dictobject.h,
 * Include/internal/pycore_{object,dict,frame}.h, Objects/dict-common.h (3.8 and 3.9) and Objects/dictobject.c (3.10)
 * for the keys; checked against the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0, 3.14.10 and 3.15.2. */
static const struct objects {
	unsigned minor;
	enum storage storage;
	uint32_t cached_keys;   /* PyHeapTypeObject.ht_cached_keys */
	uint32_t keys_count;    /* dk_nentries */
	uint32_t keys_indices;  /* dk_indices */
	uint32_t values;        /* offset of the values in struct _dictvalues */
	bool has_short_entries; /* dk_kind: entries have no hash if all keys are str */
	/* lv_tag: sign in the lowest two bits, digit count above the lowest three; before, ob_size */
	bool has_int_tag;
} known[] = {
	{ 8, DICT_AT_OFFSET, 872, 32, 40, 0, false, false },
	{ 9, DICT_AT_OFFSET, 864, 32, 40, 0, false, false },
	{ 10, DICT_AT_OFFSET, 872, 32, 40, 0, false, false },
	{ 11, VALUES_OR_DICT, 872, 24, 32, 0, true, false },
	{ 12, TAGGED_WORD, 880, 24, 32, 0, true, true },
	{ 13, VALUES_WITHIN, 880, 24, 32, 8, true, true },
	{ 14, VALUES_WITHIN, 880, 24, 32, 8, true, true },
	{ 15, VALUES_WITHIN, 888, 24, 32, 8, true, true },
};

/* The same in all of them. */
enum {
	HEADER = 16,
	TYPE = 8,
	SIZE = 16,
	TYPE_BASIC_SIZE = 32,
	TYPE_FLAGS = 168,
	TYPE_DICT_OFFSET = 288,
	DICT_KEYS = 32,
	DICT_VALUES = 40,
	RANGE_LENGTH = 40,
	STR_STATE = 32,
	MANAGED_VALUES = -32,
	MANAGED_DICT = -24,
	HAS_VALUES_WITHIN = 1 << 2,
	IS_HEAP_TYPE = 1 << 9,
	HAS_MANAGED_DICT = 1 << 4, /* Py_TPFLAGS_INLINE_VALUES, Py_TPFLAGS_MANAGED_DICT */
};
enum {
	NAME_CELLS_MAX = 64,
	TEXT_HEAD_MAX = 56, /* of a compact ASCII str */
	KEYS_AT_ONCE = 64,
	KEYS_MAX = 512,
	KEYS_SIZE_MAX = 1 << 16,
	DICT_OFFSET_MAX = 4096,
	DIGIT_BITS = 30
};

static const struct objects *objects_of(const struct py_layout *layout)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].minor == layout->minor && !layout->is_free_threaded)
			return &known[i];
	return NULL;
}

enum status py_objects_known(const struct py_location *location, struct reason *why_not)
{
	char version[PY_VERSION_SIZE];
	py_layout_version(&location->layout, version);
	if (!objects_of(&location->layout))
		return reason_set(why_not, STATUS_UNSUPPORTED, NULL,
			"pmtop cannot read objects of Python %s (only 3.%u to 3.%u%s)", version, known[0].minor,
			known[sizeof known / sizeof *known - 1].minor,
			location->layout.is_free_threaded ? ", not free-threaded" : "");
	for (size_t i = 0; i < PY_TYPES_NEEDED; i++)
		if (!location->types[i])
			return reason_set(why_not, STATUS_UNSUPPORTED, NULL, "this Python %s does not export its types", version);
	return STATUS_OK;
}

/* -- types, texts, ints -- */

static uint64_t word_at(const unsigned char *bytes, size_t offset)
{
	uint64_t word;
	memcpy(&word, bytes + offset, sizeof word);
	return word;
}

bool py_is(const struct py_process *process, uint64_t object, enum py_type type)
{
	uint64_t found;
	return object && remote_word(process->pid, object + TYPE, &found) && found &&
		found == process->location.types[type];
}

/* `bytes`: of a str of this length. */
static bool is_text_in(const struct py_process *process, const unsigned char *bytes, const char *text, size_t length)
{
	uint32_t state;
	memcpy(&state, bytes + STR_STATE, sizeof state);
	bool is_ascii = (state >> 5 & 1) && (state >> 6 & 1); /* compact, and ASCII */
	return word_at(bytes, TYPE) == process->location.types[PY_STR] && word_at(bytes, SIZE) == length && is_ascii &&
		memcmp(bytes + process->location.layout.text_ascii, text, length) == 0;
}

/* A shorter one, behind which no memory is, is another one. */
bool py_is_text(const struct py_process *process, uint64_t object, const char *text)
{
	unsigned char found[TEXT_HEAD_MAX + NAME_CELLS_MAX];
	size_t length = strlen(text), head = process->location.layout.text_ascii;
	return length <= NAME_CELLS_MAX && head <= TEXT_HEAD_MAX && object &&
		remote_read(process->pid, object, found, head + length) && is_text_in(process, found, text, length);
}

bool py_text_bytes(const struct py_process *process, uint64_t object, char *out, size_t size, size_t *length)
{
	unsigned char head[STR_STATE + 4];
	uint32_t state;
	if (!object || !remote_read(process->pid, object, head, sizeof head))
		return false;
	*length = word_at(head, SIZE);
	memcpy(&state, head + STR_STATE, sizeof state);
	bool is_ascii = (state >> 5 & 1) && (state >> 6 & 1);
	if (word_at(head, TYPE) != process->location.types[PY_STR] || !is_ascii || *length >= size ||
		!remote_read(process->pid, object + process->location.layout.text_ascii, out, *length))
		return false;
	out[*length] = '\0';
	return true;
}

bool py_text_read(const struct py_process *process, uint64_t object, char *out, size_t size)
{
	size_t length;
	if (!py_text_bytes(process, object, out, size, &length))
		return false;
	for (size_t i = 0; i < length; i++)
		if (out[i] < ' ' || out[i] > '~')
			return false;
	return true;
}

bool py_int_decode(const struct py_location *location, const unsigned char bytes[PY_INT_SIZE], uint64_t *out)
{
	const struct objects *objects = objects_of(&location->layout);
	uint64_t size = word_at(bytes, SIZE), digits = word_at(bytes, SIZE + 8);
	if (!objects || word_at(bytes, TYPE) != location->types[PY_INT])
		return false;
	if (objects->has_int_tag) {
		if ((size & 3) > 1) /* below 0 */
			return false;
		size = size >> 3;
	}
	uint64_t low = (uint32_t)digits, high = digits >> 32;
	if (size > 2 || (size > 0 && low >> DIGIT_BITS) || (size > 1 && high >> DIGIT_BITS))
		return false;
	*out = (size > 0 ? low : 0) | (size > 1 ? high << DIGIT_BITS : 0);
	return true;
}

bool py_int_read(const struct py_process *process, uint64_t object, uint64_t *out)
{
	unsigned char bytes[PY_INT_SIZE];
	return object && remote_read(process->pid, object, bytes, sizeof bytes) &&
		py_int_decode(&process->location, bytes, out);
}

/* A bool is laid out as an int is. */
bool py_bool_read(const struct py_process *process, uint64_t object, bool *out)
{
	unsigned char bytes[PY_INT_SIZE];
	uint64_t value;
	if (!object || !remote_read(process->pid, object, bytes, sizeof bytes) ||
		word_at(bytes, TYPE) != process->location.types[PY_BOOL])
		return false;
	memcpy(bytes + TYPE, &process->location.types[PY_INT], sizeof process->location.types[PY_INT]);
	if (!py_int_decode(&process->location, bytes, &value) || value > 1)
		return false;
	*out = value == 1;
	return true;
}

bool py_size_read(const struct py_process *process, uint64_t object, uint64_t *out)
{
	uint64_t size, length;
	if (py_is(process, object, PY_RANGE))
		return remote_word(process->pid, object + RANGE_LENGTH, &length) && py_int_read(process, length, out);
	if ((!py_is(process, object, PY_LIST) && !py_is(process, object, PY_TUPLE)) ||
		!remote_word(process->pid, object + SIZE, &size) || size > INT64_MAX)
		return false;
	*out = size;
	return true;
}

bool py_list_read(const struct py_process *process, uint64_t list, uint64_t *items, uint64_t *count)
{
	return py_is(process, list, PY_LIST) && py_size_read(process, list, count) &&
		remote_word(process->pid, list + PY_LIST_ITEMS, items);
}

size_t py_items_read(const struct py_process *process, uint64_t tuple, uint64_t *out, size_t max)
{
	uint64_t head[SIZE / 8 + 1];
	if (!tuple || !remote_read(process->pid, tuple, head, sizeof head) ||
		head[TYPE / 8] != process->location.types[PY_TUPLE])
		return 0;
	uint64_t size = head[SIZE / 8];
	size_t count = size < max ? size : max;
	return remote_read(process->pid, tuple + py_layout_tuple_items(&process->location.layout), out, count * sizeof *out)
		? count
		: 0;
}

/* -- keys and dicts -- */

struct keys {
	uint64_t entries;
	uint32_t entry_size;
	size_t count;
};

/* Before 3.11 it holds dk_size; since then the logarithms of the size and of the bytes. */
static bool read_keys(const struct py_process *process, uint64_t address, size_t max, struct keys *out)
{
	const struct objects *objects = objects_of(&process->location.layout);
	unsigned char head[HEADER + 24];
	if (!address || !remote_read(process->pid, address, head, sizeof head))
		return false;
	uint64_t count = word_at(head, objects->keys_count), indices;
	out->entry_size = 24;
	if (objects->has_short_entries) {
		if (head[9] > 20 || head[10] > 2)
			return false;
		indices = UINT64_C(1) << head[9];
		out->entry_size = head[10] > 0 ? 16 : 24;
	} else {
		uint64_t size = word_at(head, 8);
		if (size == 0 || size > KEYS_SIZE_MAX || (size & (size - 1)))
			return false;
		indices = size * (size <= 0xff ? 1 : size <= 0xffff ? 2 : 4);
	}
	out->entries = address + objects->keys_indices + indices;
	out->count = count < max ? count : max;
	return true;
}

/* Which of these strs equals the name; `count`: none. Mostly one system call. */
static size_t find_text(const struct py_process *process, const uint64_t *texts, size_t count, const char *name)
{
	struct remote_piece pieces[KEYS_AT_ONCE];
	unsigned char found[KEYS_AT_ONCE][TEXT_HEAD_MAX + NAME_CELLS_MAX];
	size_t length = strlen(name), head = process->location.layout.text_ascii, pieces_count = 0, i;
	if (length > NAME_CELLS_MAX || head > TEXT_HEAD_MAX)
		return count;
	for (i = 0; i < count; i++) {
		memset(found[i], 0, sizeof found[i]);
		if (texts[i])
			pieces[pieces_count++] = (struct remote_piece){ texts[i], found[i], head + length };
	}
	bool is_read = remote_read_pieces(process->pid, pieces, pieces_count);
	for (i = 0; i < count; i++)
		if (texts[i] && (is_read ? is_text_in(process, found[i], name, length) : py_is_text(process, texts[i], name)))
			break;
	return i;
}

static bool find_key(
	const struct py_process *process, const struct keys *keys, const char *name, size_t *index, struct py_guard *guard)
{
	unsigned char entries[KEYS_MAX * 24];
	uint64_t texts[KEYS_MAX];
	uint32_t key_at = keys->entry_size == 24 ? 8 : 0;
	if (!remote_read(process->pid, keys->entries, entries, keys->count * keys->entry_size))
		return false;
	for (size_t i = 0; i < keys->count; i++)
		texts[i] = word_at(entries, i * keys->entry_size + key_at);
	for (size_t at = 0; at < keys->count; at += KEYS_AT_ONCE) {
		size_t now = keys->count - at < KEYS_AT_ONCE ? keys->count - at : KEYS_AT_ONCE,
			   i = find_text(process, texts + at, now, name);
		if (i == now)
			continue;
		*index = at + i;
		*guard = (struct py_guard){ keys->entries + *index * keys->entry_size + key_at, texts[*index] };
		return true;
	}
	return false;
}

static void add_guard(struct py_attribute *attribute, uint64_t address, uint64_t word)
{
	if (attribute->guard_count < PY_GUARDS_MAX)
		attribute->guards[attribute->guard_count++] = (struct py_guard){ address, word };
}

/* Finds an attribute in values that are stored apart from their keys. */
static bool find_in_values(
	const struct py_process *process, uint64_t keys_at, uint64_t values, const char *name, struct py_attribute *out)
{
	struct keys keys;
	struct py_guard key;
	size_t index;
	if (!read_keys(process, keys_at, KEYS_MAX, &keys) || !find_key(process, &keys, name, &index, &key))
		return false;
	add_guard(out, key.address, key.word);
	out->slot = values + objects_of(&process->location.layout)->values + 8 * index;
	return true;
}

bool py_dict_find(const struct py_process *process, uint64_t dict, const char *name, struct py_attribute *out)
{
	unsigned char head[DICT_VALUES + 8];
	struct keys keys;
	struct py_guard key;
	size_t index;
	if (!dict || !remote_read(process->pid, dict, head, sizeof head) ||
		word_at(head, TYPE) != process->location.types[PY_DICT])
		return false;
	uint64_t keys_at = word_at(head, DICT_KEYS), values = word_at(head, DICT_VALUES);
	add_guard(out, dict + DICT_KEYS, keys_at);
	add_guard(out, dict + DICT_VALUES, values);
	if (values)
		return find_in_values(process, keys_at, values, name, out);
	if (!read_keys(process, keys_at, KEYS_MAX, &keys) || !find_key(process, &keys, name, &index, &key))
		return false;
	add_guard(out, key.address, key.word);
	out->slot = key.address + 8;
	return true;
}

bool py_dict_search(const struct py_process *process, uint64_t dict, const char *name, uint64_t *value)
{
	unsigned char head[DICT_VALUES + 8];
	struct keys keys;
	struct py_guard key;
	size_t index;
	if (!dict || !remote_read(process->pid, dict, head, sizeof head) ||
		word_at(head, TYPE) != process->location.types[PY_DICT] || word_at(head, DICT_VALUES) ||
		!read_keys(process, word_at(head, DICT_KEYS), KEYS_SIZE_MAX, &keys))
		return false;
	for (size_t at = 0; at < keys.count; at += KEYS_MAX) {
		struct keys part = { keys.entries + at * keys.entry_size, keys.entry_size,
			keys.count - at < KEYS_MAX ? keys.count - at : KEYS_MAX };
		if (find_key(process, &part, name, &index, &key))
			return remote_word(process->pid, key.address + 8, value) && *value;
	}
	return false;
}

bool py_entries_read(const struct py_process *process, uint64_t dict, struct py_entries *out)
{
	unsigned char head[DICT_VALUES + 8];
	struct keys keys;
	if (!dict || !remote_read(process->pid, dict, head, sizeof head) ||
		word_at(head, TYPE) != process->location.types[PY_DICT] || word_at(head, DICT_VALUES) ||
		!read_keys(process, word_at(head, DICT_KEYS), PY_ENTRIES_MAX, &keys))
		return false;
	out->dict = dict;
	out->keys = word_at(head, DICT_KEYS);
	out->values = 0;
	out->at = keys.entries;
	out->entry_size = keys.entry_size;
	out->count = keys.count;
	return remote_read(process->pid, keys.entries, out->bytes, keys.count * keys.entry_size);
}

bool py_entries_get(
	const struct py_entries *entries, size_t index, uint64_t *key, struct py_attribute *out, uint64_t *value)
{
	size_t at = index * entries->entry_size + (entries->entry_size == 24 ? 8 : 0);
	*key = word_at(entries->bytes, at);
	*value = word_at(entries->bytes, at + 8);
	*out = (struct py_attribute){ .slot = entries->at + at + 8 };
	add_guard(out, entries->dict + DICT_KEYS, entries->keys);
	add_guard(out, entries->dict + DICT_VALUES, entries->values);
	add_guard(out, entries->at + at, *key);
	return *key && *value;
}

bool py_entries_find(const struct py_entries *entries, uint64_t key, struct py_attribute *out, uint64_t *value)
{
	uint64_t found;
	for (size_t i = 0; i < entries->count; i++)
		if (py_entries_get(entries, i, &found, out, value) && found == key)
			return true;
	return false;
}

/* -- instances -- */

static bool find_at_offset(
	const struct py_process *process, uint64_t object, uint64_t type, const char *name, struct py_attribute *out)
{
	uint64_t offset, dict;
	/* Negative: from the end of an object of variable size. */
	if (!remote_word(process->pid, type + TYPE_DICT_OFFSET, &offset) || offset < HEADER || offset > DICT_OFFSET_MAX ||
		!remote_word(process->pid, object + offset, &dict))
		return false;
	add_guard(out, object + offset, dict);
	return py_dict_find(process, dict, name, out);
}

/* From 3.11 on the words before the object select the storage; they must not change. Either *values, with *keys, or
 * *dict is set. */
static bool find_storage(const struct py_process *process, uint64_t object, uint64_t type, uint64_t flags,
	struct py_attribute *out, uint64_t *keys_at, uint64_t *values_at, uint64_t *dict_at)
{
	const struct objects *objects = objects_of(&process->location.layout);
	uint64_t keys, dict, values = 0;
	unsigned char within[8];
	uint64_t word_at_dict = object + (uint64_t)(int64_t)MANAGED_DICT,
			 word_at_values = object + (uint64_t)(int64_t)MANAGED_VALUES;
	if (!remote_word(process->pid, type + objects->cached_keys, &keys) ||
		!remote_word(process->pid, word_at_dict, &dict))
		return false;
	add_guard(out, word_at_dict, dict);
	if (objects->storage == VALUES_OR_DICT) {
		if (!remote_word(process->pid, word_at_values, &values))
			return false;
		add_guard(out, word_at_values, values);
	} else if (objects->storage == TAGGED_WORD && (dict & 1)) {
		values = dict + 1;
	} else if (!dict && (flags & HAS_VALUES_WITHIN)) {
		uint64_t size;
		if (!remote_word(process->pid, type + TYPE_BASIC_SIZE, &size) || size < HEADER || size > DICT_OFFSET_MAX ||
			!remote_read(process->pid, object + size, within, sizeof within))
			return false;
		values = within[3] ? object + size : 0; /* struct _dictvalues: capacity, size, embedded, valid */
	}
	*keys_at = keys;
	*values_at = values;
	*dict_at = dict;
	return true;
}

static bool find_managed(const struct py_process *process, uint64_t object, uint64_t type, uint64_t flags,
	const char *name, struct py_attribute *out)
{
	uint64_t keys, values, dict;
	if (!find_storage(process, object, type, flags, out, &keys, &values, &dict))
		return false;
	return values ? find_in_values(process, keys, values, name, out) : py_dict_find(process, dict, name, out);
}

static size_t read_values(
	const struct py_process *process, uint64_t keys_at, uint64_t values, uint64_t *out, size_t max)
{
	struct keys keys;
	if (!read_keys(process, keys_at, max, &keys) || keys.count == 0 ||
		!remote_read(
			process->pid, values + objects_of(&process->location.layout)->values, out, keys.count * sizeof *out))
		return 0;
	return keys.count;
}

static size_t read_dict(const struct py_process *process, uint64_t dict, uint64_t *out, size_t max)
{
	unsigned char head[DICT_VALUES + 8], entries[KEYS_MAX * 24];
	struct keys keys;
	if (!dict || !remote_read(process->pid, dict, head, sizeof head) ||
		word_at(head, TYPE) != process->location.types[PY_DICT])
		return 0;
	if (word_at(head, DICT_VALUES))
		return read_values(process, word_at(head, DICT_KEYS), word_at(head, DICT_VALUES), out, max);
	if (!read_keys(process, word_at(head, DICT_KEYS), max < KEYS_MAX ? max : KEYS_MAX, &keys) || keys.count == 0 ||
		!remote_read(process->pid, keys.entries, entries, keys.count * keys.entry_size))
		return 0;
	for (size_t i = 0; i < keys.count; i++)
		out[i] = word_at(entries, (i + 1) * keys.entry_size - 8);
	return keys.count;
}

size_t py_attributes_read(const struct py_process *process, uint64_t object, uint64_t *out, size_t max)
{
	const struct objects *objects = objects_of(&process->location.layout);
	struct py_attribute unused = { .slot = 0 };
	uint64_t type, flags, keys, values, dict = 0, offset;
	if (!objects || !object || !remote_word(process->pid, object + TYPE, &type) || !type ||
		!remote_word(process->pid, type + TYPE_FLAGS, &flags) || !(flags & IS_HEAP_TYPE))
		return 0;
	if (objects->storage != DICT_AT_OFFSET && (flags & HAS_MANAGED_DICT)) {
		if (!find_storage(process, object, type, flags, &unused, &keys, &values, &dict))
			return 0;
		return values ? read_values(process, keys, values, out, max) : read_dict(process, dict, out, max);
	}
	if (!remote_word(process->pid, type + TYPE_DICT_OFFSET, &offset) || offset < HEADER || offset > DICT_OFFSET_MAX ||
		!remote_word(process->pid, object + offset, &dict))
		return 0;
	return read_dict(process, dict, out, max);
}

bool py_attribute_find(const struct py_process *process, uint64_t object, const char *name, struct py_attribute *out)
{
	const struct objects *objects = objects_of(&process->location.layout);
	struct py_attribute found = { .slot = 0 };
	uint64_t type, flags, value;
	if (!objects || !object || !remote_word(process->pid, object + TYPE, &type) || !type ||
		!remote_word(process->pid, type + TYPE_FLAGS, &flags))
		return false;
	add_guard(&found, object + TYPE, type);
	bool is_managed = objects->storage != DICT_AT_OFFSET && (flags & HAS_MANAGED_DICT);
	bool is_found = is_managed ? find_managed(process, object, type, flags, name, &found)
							   : find_at_offset(process, object, type, name, &found);
	/* Since 3.14 a class has room for values of all attributes that its methods assign, also of those in slots. */
	if (!is_found || (is_managed && objects->minor >= 14 && remote_word(process->pid, found.slot, &value) && !value)) {
		struct py_attribute in_slot = { .guard_count = 1, .guards = { found.guards[0] } };
		if (py_slot_find(process, object, type, name, &in_slot.slot)) {
			found = in_slot;
			is_found = true;
		}
	}
	if (is_found)
		*out = found;
	return is_found;
}

bool py_attribute_get(const struct py_process *process, uint64_t object, const char *name, uint64_t *value)
{
	struct py_attribute attribute;
	uint64_t found;
	if (!py_attribute_find(process, object, name, &attribute) || !remote_word(process->pid, attribute.slot, &found) ||
		!found)
		return false;
	*value = found;
	return true;
}
