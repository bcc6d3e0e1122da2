/* profile_table.h: a hash table from 64-bit keys to one number each. */
#ifndef PMTOP_TRACE_PROFILE_TABLE_H
#define PMTOP_TRACE_PROFILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_entry {
	uint64_t key;
	union {
		double number;
		int64_t whole;
		uint64_t bits;
	};
	uint32_t count; /* for the caller */
	bool is_used;
};

struct profile_table {
	struct profile_entry *entries;
	size_t count, capacity; /* capacity: a power of two */
};

struct profile_table *profile_table_new(void);
void profile_table_free(struct profile_table *table);
/* The entry of a key, added with 0 if new. Valid until the next call. NULL: no memory. */
struct profile_entry *profile_table_at(struct profile_table *table, uint64_t key);
/* NULL: not there. `table` may be NULL. */
const struct profile_entry *profile_table_find(const struct profile_table *table, uint64_t key);

#endif
