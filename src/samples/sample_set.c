#include "src/samples/sample_set.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"

enum { ARENA_BLOCK = 16 * 1024, RECORDS_FIRST = 64, TEXT_GROWTH = 8, TEXT_MAX = 64 * 1024 };

/* A list of blocks. sample_set_clear keeps the first, so that sets of typical size allocate nothing. */
struct arena {
	struct arena *next;
	size_t used, size;
	_Alignas(16) unsigned char bytes[];
};

void sample_set_clear(struct sample_set *set)
{
	set->count = set->allocated = 0;
	set->failed = set->is_snapshot = false;
	if (!set->arena)
		return;
	struct arena *block = set->arena->next;
	while (block) {
		struct arena *next = block->next;
		free(block);
		block = next;
	}
	set->arena->next = NULL;
	set->arena->used = 0;
}

void sample_set_release(struct sample_set *set)
{
	sample_set_clear(set);
	free(set->arena);
	free(set->records);
	*set = (struct sample_set)SAMPLE_SET_INIT;
}

static bool reserve(struct sample_set *set, size_t more)
{
	size_t capacity = set->capacity ? set->capacity : RECORDS_FIRST;
	while (capacity - set->count < more)
		capacity *= 2;
	if (capacity == set->capacity)
		return true;
	struct record *records = realloc(set->records, capacity * sizeof *records);
	if (!records) {
		set->failed = true;
		return false;
	}
	set->records = records;
	set->capacity = capacity;
	return true;
}

struct record *sample_set_add(struct sample_set *set, enum record_kind kind, unsigned run, int64_t time_ns)
{
	if (set->count == set->capacity && !reserve(set, 1))
		return NULL;
	struct record *record = &set->records[set->count++];
	memset(record, 0, sizeof *record);
	record->kind = (uint8_t)kind;
	record->run = (uint8_t)run;
	record->time_ns = time_ns;
	return record;
}

void *sample_set_allocate(struct sample_set *set, size_t size)
{
	if (size > (size_t)-1 / 2)
		goto failed;
	size_t need = (size + 15) & ~(size_t)15;
	struct arena *block = set->arena;
	/* Try only the first block and the newest, which follows it: searching all would take longer and longer. */
	if (block && block->size - block->used < need)
		block = block->next;
	if (block && block->size - block->used < need)
		block = NULL;
	if (!block) {
		size_t room = need > ARENA_BLOCK ? need : ARENA_BLOCK;
		block = malloc(sizeof *block + room);
		if (!block)
			goto failed;
		*block = (struct arena){ .size = room };
		if (set->arena) {
			block->next = set->arena->next;
			set->arena->next = block;
		} else {
			set->arena = block;
		}
	}
	void *result = block->bytes + block->used;
	block->used += need;
	set->allocated += need;
	memset(result, 0, size);
	return result;
failed:
	set->failed = true;
	return NULL;
}

const char *sample_set_text(struct sample_set *set, const char *text, size_t length)
{
	/* A byte becomes at most TEXT_GROWTH bytes ("<U+009B>"). Text longer than TEXT_MAX is cut. */
	char small[512], *large = NULL, *out = small;
	size_t size = sizeof small;
	if (length > (sizeof small - 1) / TEXT_GROWTH) {
		size = (length < TEXT_MAX ? length : TEXT_MAX) * TEXT_GROWTH + 1;
		out = large = malloc(size);
		if (!large) {
			set->failed = true;
			return "";
		}
	}
	size_t cleaned = text_clean(out, size, text, length);
	char *copy = sample_set_allocate(set, cleaned + 1);
	if (copy)
		memcpy(copy, out, cleaned + 1);
	free(large);
	return copy ? copy : "";
}

bool sample_set_move(struct sample_set *set, struct sample_set *from)
{
	if (!reserve(set, from->count))
		return false;
	if (from->count)
		memcpy(set->records + set->count, from->records, from->count * sizeof *from->records);
	set->count += from->count;
	set->failed |= from->failed;
	set->allocated += from->allocated;
	if (from->arena) {
		struct arena *last = from->arena;
		while (last->next)
			last = last->next;
		struct arena **link = set->arena ? &set->arena->next : &set->arena;
		last->next = *link;
		*link = from->arena;
		from->arena = NULL;
	}
	sample_set_clear(from);
	return true;
}

void sample_set_figure(struct sample_set *set, int64_t time_ns, enum metric metric, int32_t instance, double value)
{
	struct record *record = sample_set_add(set, RECORD_FIGURE, 0, time_ns);
	if (!record)
		return;
	record->figure.metric = metric;
	record->figure.instance = instance;
	record->figure.value = value;
}

void sample_set_missing(
	struct sample_set *set, int64_t time_ns, const char *figure, const char *text, const char *remedy)
{
	struct record *record = sample_set_add(set, RECORD_MISSING, 0, time_ns);
	if (!record)
		return;
	record->missing.figure = sample_set_text(set, figure, strlen(figure));
	record->missing.text = text ? sample_set_text(set, text, strlen(text)) : NULL;
	record->missing.remedy = remedy ? sample_set_text(set, remedy, strlen(remedy)) : NULL;
}

const char *record_kind_name(enum record_kind kind)
{
	static const char *const names[RECORD_KIND_COUNT] = {
#define RECORD_TEXT(id) #id,
		RECORD_KINDS(RECORD_TEXT)
#undef RECORD_TEXT
	};
	return (unsigned)kind < RECORD_KIND_COUNT ? names[kind] : "?";
}

bool end_is_orderly(const char *text) { return text && strcmp(text, "ended") == 0; }

bool end_is_withdrawal(const char *text) { return text && strcmp(text, END_WITHDRAWN) == 0; }

bool opened_is_counted(const struct record *record)
{
	return record->opened.abi && strcmp(record->opened.abi, "counted") == 0;
}
