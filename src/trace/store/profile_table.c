#include "src/trace/store/profile_table.h"

#include <stdlib.h>

static size_t slot_of(const struct profile_table *table, uint64_t key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15;
	/* Its upper half: the lower one is 0 for keys whose lower half is. */
	size_t slot = (size_t)(hash >> 32) & (table->capacity - 1);
	while (table->entries[slot].is_used && table->entries[slot].key != key)
		slot = (slot + 1) & (table->capacity - 1);
	return slot;
}

static bool grow(struct profile_table *table)
{
	struct profile_table grown = { .capacity = table->capacity * 2, .count = table->count };
	grown.entries = calloc(grown.capacity, sizeof *grown.entries);
	if (!grown.entries)
		return false;
	for (size_t i = 0; i < table->capacity; i++)
		if (table->entries[i].is_used)
			grown.entries[slot_of(&grown, table->entries[i].key)] = table->entries[i];
	free(table->entries);
	*table = grown;
	return true;
}

struct profile_table *profile_table_new(void)
{
	struct profile_table *table = calloc(1, sizeof *table);
	if (!table)
		return NULL;
	table->capacity = 256;
	table->entries = calloc(table->capacity, sizeof *table->entries);
	if (table->entries)
		return table;
	free(table);
	return NULL;
}

void profile_table_free(struct profile_table *table)
{
	if (table)
		free(table->entries);
	free(table);
}

struct profile_entry *profile_table_at(struct profile_table *table, uint64_t key)
{
	if (table->count * 2 >= table->capacity && !grow(table))
		return NULL;
	struct profile_entry *entry = &table->entries[slot_of(table, key)];
	if (!entry->is_used) {
		entry->is_used = true;
		entry->key = key;
		table->count++;
	}
	return entry;
}

const struct profile_entry *profile_table_find(const struct profile_table *table, uint64_t key)
{
	const struct profile_entry *entry = table ? &table->entries[slot_of(table, key)] : NULL;
	return entry && entry->is_used ? entry : NULL;
}
