#include "src/trace/analysis/profile_memory.h"

#include <stdlib.h>

#include "src/trace/analysis/profile_host.h"
#include "src/trace/store/profile_table.h"

static int by_time(const void *a, const void *b)
{
	const struct profile_allocation *x = a, *y = b;
	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static void order(struct profile *profile)
{
	uint32_t i = 1;
	while (i < profile->allocation_count && profile->allocations[i - 1].at_ns <= profile->allocations[i].at_ns)
		i++;
	if (i < profile->allocation_count)
		qsort(profile->allocations, profile->allocation_count, sizeof *profile->allocations, by_time);
}

static struct profile_memory *memory_of(struct profile_memories *memories, const struct profile_allocation *allocation)
{
	uint32_t i = 0;
	while (i < memories->count &&
		(memories->devices[i].device_type != allocation->device_type ||
			memories->devices[i].device != allocation->device))
		i++;
	if (i == PROFILE_MEMORIES_MAX)
		return NULL;
	if (i == memories->count) {
		memories->devices[memories->count++] = (struct profile_memory){
			.device_type = allocation->device_type, .device = allocation->device, .start_bytes = -1
		};
		memset(memories->devices[i].curve, 0xff, sizeof memories->devices[i].curve);
	}
	return &memories->devices[i];
}

/* Without a total (older releases) the curve begins at 0. */
static int64_t total_after(const struct profile_memory *memory, const struct profile_allocation *allocation)
{
	int64_t total;
	if (allocation->total_allocated >= 0)
		return allocation->total_allocated;
	if (__builtin_add_overflow(memory->end_bytes, allocation->bytes, &total))
		return memory->end_bytes;
	return total > 0 ? total : 0;
}

static void add_event(
	const struct profile *profile, struct profile_memory *memory, const struct profile_allocation *allocation)
{
	int64_t total = total_after(memory, allocation), before;
	if (memory->start_bytes < 0 && !__builtin_sub_overflow(total, allocation->bytes, &before)) {
		memory->start_bytes = before > 0 ? before : 0;
		if (memory->start_bytes > memory->peak_bytes) {
			memory->peak_bytes = memory->start_bytes;
			memory->peak_at_ns = profile->start_ns;
		}
	}
	if (allocation->bytes > 0) {
		memory->allocations++;
		if (__builtin_add_overflow(memory->allocated_bytes, allocation->bytes, &memory->allocated_bytes))
			memory->allocated_bytes = INT64_MAX;
	} else {
		memory->frees++;
	}
	memory->end_bytes = total;
	if (total > memory->peak_bytes) {
		memory->peak_bytes = total;
		memory->peak_at_ns = allocation->at_ns;
	}
	double part = (double)(allocation->at_ns - profile->start_ns) / ((double)(profile->end_ns - profile->start_ns) + 1);
	if (part >= 0 && part < 1) {
		int64_t *point = &memory->curve[(size_t)(part * PROFILE_CURVE_SIZE)];
		*point = total > *point ? total : *point;
	}
}

/* -- what is live at the peak -- */

static bool is_of(const struct profile_allocation *allocation, const struct profile_memory *memory)
{
	return allocation->device_type == memory->device_type && allocation->device == memory->device;
}

static void add_holder(struct profile *profile, struct profile_table *sums, const struct profile_allocation *allocation)
{
	const struct profile_track *track = &profile->tracks[allocation->track];
	uint32_t at = profile_host_at(track, allocation->at_ns, false),
			 python = profile_host_at(track, allocation->at_ns, true);
	uint32_t op = at == PROFILE_NONE ? 0 : profile_name_of(track->hosts[at].name),
			 line = python == PROFILE_NONE ? 0 : profile_host_line(profile, track, python);
	struct profile_entry *entry = profile_table_at(sums, (uint64_t)op << 32 | line);
	/* Bytes above, the number of allocations in the lowest 20 bits. */
	if (entry && allocation->bytes < INT64_MAX >> 24)
		entry->whole += (allocation->bytes << 20) + ((entry->whole & 0xfffff) < 0xfffff);
}

static void keep_largest(struct profile_memory *memory, const struct profile_entry *entry)
{
	struct profile_holder holder = { (uint32_t)(entry->key >> 32), (uint32_t)entry->key, entry->whole >> 20,
		(uint64_t)(entry->whole & 0xfffff) };
	uint32_t at = memory->holder_count;
	while (at && memory->holders[at - 1].bytes < holder.bytes)
		at--;
	if (at == PROFILE_HOLDERS_MAX)
		return;
	memory->holder_count += memory->holder_count < PROFILE_HOLDERS_MAX;
	memmove(&memory->holders[at + 1], &memory->holders[at], (memory->holder_count - at - 1) * sizeof holder);
	memory->holders[at] = holder;
}

static bool find_holders(struct profile *profile, struct profile_memory *memory)
{
	struct profile_table *live = profile_table_new(), *sums = profile_table_new();
	bool is_good = live && sums;
	for (uint32_t i = 0; i < profile->allocation_count && is_good; i++) {
		const struct profile_allocation *allocation = &profile->allocations[i];
		if (allocation->at_ns > memory->peak_at_ns)
			break;
		if (!is_of(allocation, memory))
			continue;
		struct profile_entry *entry = profile_table_at(live, allocation->address);
		is_good = entry != NULL;
		if (entry)
			entry->bits = allocation->bytes > 0 ? i + 1 : 0;
	}
	for (size_t i = 0; is_good && i < live->capacity; i++)
		if (live->entries[i].is_used && live->entries[i].bits) {
			const struct profile_allocation *allocation = &profile->allocations[live->entries[i].bits - 1];
			add_holder(profile, sums, allocation);
			if (__builtin_add_overflow(memory->seen_bytes, allocation->bytes, &memory->seen_bytes))
				memory->seen_bytes = INT64_MAX;
		}
	for (size_t i = 0; is_good && i < sums->capacity; i++)
		if (sums->entries[i].is_used)
			keep_largest(memory, &sums->entries[i]);
	profile_table_free(live);
	profile_table_free(sums);
	return is_good;
}

static int gpus_first(const void *a, const void *b)
{
	const struct profile_memory *x = a, *y = b;
	int first = (x->device_type <= 0) - (y->device_type <= 0);
	return first ? first : x->device - y->device;
}

bool profile_memory_find(struct profile *profile, struct profile_memories *memories)
{
	bool is_good = true;
	order(profile);
	for (uint32_t i = 0; i < profile->allocation_count; i++) {
		struct profile_memory *memory = memory_of(memories, &profile->allocations[i]);
		if (memory)
			add_event(profile, memory, &profile->allocations[i]);
	}
	for (uint32_t i = 0; i < memories->count && is_good; i++)
		is_good = find_holders(profile, &memories->devices[i]);
	qsort(memories->devices, memories->count, sizeof *memories->devices, gpus_first);
	return is_good;
}
