#include "src/trace/snapshot/snapshot_replay.h"

#include <stdlib.h>

#include "src/trace/store/profile_table.h"

enum { ROWS_MAX = 1 << 24 };

bool snapshot_history_init(struct snapshot_history *history)
{
	*history = (struct snapshot_history){ .row_of = profile_table_new(), .live = profile_table_new() };
	history->marks[SNAPSHOT_PEAK].version = 1;
	return history->row_of && history->live;
}

void snapshot_history_release(struct snapshot_history *history)
{
	profile_table_free(history->row_of);
	profile_table_free(history->live);
	free(history->rows);
}

static bool grow_rows(struct snapshot_history *history)
{
	if (history->row_count < history->row_capacity)
		return true;
	uint32_t capacity = history->row_capacity ? history->row_capacity * 2 : 64;
	struct snapshot_row *grown = capacity <= ROWS_MAX ? realloc(history->rows, capacity * sizeof *grown) : NULL;
	if (grown) {
		history->rows = grown;
		history->row_capacity = capacity;
	}
	return grown != NULL;
}

/* The index of a stack's row + 1; 0 = no memory. */
static uint32_t row_of(struct snapshot_history *history, uint32_t stack)
{
	struct profile_entry *entry = profile_table_at(history->row_of, stack);
	if (entry && !entry->bits && grow_rows(history)) {
		history->rows[history->row_count] = (struct snapshot_row){ .stack = stack };
		entry->bits = ++history->row_count;
	}
	return entry ? (uint32_t)entry->bits : 0;
}

/* Before a row changes: retains what it was at the moments since which it has not changed. */
static struct snapshot_row *row_to_change(struct snapshot_history *history, uint32_t number)
{
	struct snapshot_row *row = &history->rows[number - 1];
	for (int mark = 0; mark < SNAPSHOT_MARKS; mark++)
		if (row->versions[mark] != history->marks[mark].version) {
			row->versions[mark] = history->marks[mark].version;
			row->at[mark] = row->now;
		}
	return row;
}

static void set_mark(struct snapshot_history *history, enum snapshot_mark mark, int64_t time_us)
{
	history->marks[mark] = (struct snapshot_moment){ .version = history->marks[mark].version + 1,
		.event = history->events,
		.time_us = time_us,
		.live_delta = history->live_delta,
		.reserved_delta = history->reserved_delta,
		.unknown_freed = history->unknown_freed };
}

static void release_entry(struct snapshot_history *history, struct profile_entry *entry)
{
	struct snapshot_row *row = row_to_change(history, entry->count);
	row->now.bytes -= entry->bits;
	row->now.blocks--;
	history->live_delta -= entry->bits;
	entry->count = 0;
}

static bool allocate(struct snapshot_history *history, const struct snapshot_event *event)
{
	uint32_t number = row_of(history, event->stack);
	struct profile_entry *entry = number ? profile_table_at(history->live, event->address) : NULL;
	if (!entry)
		return false;
	history->allocations++;
	/* Its free was not recorded (skip_actions). */
	if (entry->count)
		release_entry(history, entry);
	struct snapshot_row *row = row_to_change(history, number);
	entry->bits = event->size;
	entry->count = number;
	row->now.bytes += event->size;
	row->now.blocks++;
	history->live_delta += event->size;
	if ((int64_t)(history->live_delta - history->marks[SNAPSHOT_PEAK].live_delta) > 0)
		set_mark(history, SNAPSHOT_PEAK, event->time_us);
	return true;
}

static bool complete_free(struct snapshot_history *history, const struct snapshot_event *event)
{
	struct profile_entry *entry = profile_table_at(history->live, event->address);
	if (!entry)
		return false;
	history->frees++;
	if (entry->count) {
		release_entry(history, entry);
	} else {
		history->unknown_frees++;
		history->unknown_freed += event->size;
		history->live_delta -= event->size;
	}
	return true;
}

static void note_oom(struct snapshot_history *history, const struct snapshot_event *event)
{
	set_mark(history, SNAPSHOT_LAST_OOM, event->time_us);
	history->ooms[history->oom_count++ % SNAPSHOT_OOMS_MAX] = (struct snapshot_oom){ .event = history->events,
		.size = event->size,
		.device_free = event->device_free,
		.has_device_free = event->has_device_free,
		.live_delta = history->live_delta,
		.stack = event->stack,
		.time_us = event->time_us };
}

bool snapshot_history_add(struct snapshot_history *history, const struct snapshot_event *event)
{
	history->events++;
	if (event->time_us) {
		history->first_us = history->first_us ? history->first_us : event->time_us;
		history->last_us = event->time_us;
	}
	switch (event->action) {
	case SNAPSHOT_ALLOC: return allocate(history, event);
	case SNAPSHOT_FREE_COMPLETED: return complete_free(history, event);
	case SNAPSHOT_SEGMENT_ALLOC:
	case SNAPSHOT_SEGMENT_MAP: history->reserved_delta += event->size; return true;
	case SNAPSHOT_SEGMENT_FREE:
	case SNAPSHOT_SEGMENT_UNMAP: history->reserved_delta -= event->size; return true;
	case SNAPSHOT_OOM: note_oom(history, event); return true;
	default: return true;
	}
}

bool snapshot_history_hold(struct snapshot_history *history, uint64_t address, uint64_t size, uint32_t stack)
{
	const struct profile_entry *entry = profile_table_find(history->live, address);
	if (entry && entry->count)
		return true;
	uint32_t number = row_of(history, stack);
	if (!number)
		return false;
	history->rows[number - 1].before.bytes += size;
	history->rows[number - 1].before.blocks++;
	history->before.bytes += size;
	history->before.blocks++;
	return true;
}

struct snapshot_live snapshot_row_at(
	const struct snapshot_history *history, const struct snapshot_row *row, enum snapshot_mark mark)
{
	bool has_changed = row->versions[mark] == history->marks[mark].version;
	struct snapshot_live live = has_changed ? row->at[mark] : row->now;
	live.bytes += row->before.bytes;
	live.blocks += row->before.blocks;
	return live;
}

uint64_t snapshot_history_live(const struct snapshot_history *history, uint64_t live_delta)
{
	return history->before.bytes + history->unknown_freed + live_delta;
}

uint64_t snapshot_history_unknown(const struct snapshot_history *history, enum snapshot_mark mark)
{
	return history->unknown_freed - history->marks[mark].unknown_freed;
}

uint64_t snapshot_history_reserved(const struct snapshot_history *history, uint64_t reserved_delta)
{
	return history->reserved_end - history->reserved_delta + reserved_delta;
}
