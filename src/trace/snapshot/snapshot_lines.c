#include "src/trace/snapshot/snapshot_lines.h"

#include <stdio.h>

#include "src/base/text.h"
#include "src/trace/store/profile_table.h"

enum { CALLERS_SHOWN = 3, FRAME_SHOWN = 160 };

/* Collects rows by a key: a frame or a stack. */
struct collection {
	struct snapshot_lines lines;
	size_t capacity;
	struct profile_table *row_of; /* key → row + 1 */
	bool has_failed;
};

static struct snapshot_line *row_for(struct collection *all, uint32_t key, uint32_t frame)
{
	struct profile_entry *entry = all->row_of ? profile_table_at(all->row_of, key) : NULL;
	struct snapshot_lines *lines = &all->lines;
	if (!entry)
		return NULL;
	if (entry->bits)
		return &lines->rows[entry->bits - 1];
	if (lines->count == all->capacity) {
		size_t capacity = all->capacity ? all->capacity * 2 : 64;
		struct snapshot_line *grown = realloc(lines->rows, capacity * sizeof *grown);
		if (!grown)
			return NULL;
		lines->rows = grown;
		all->capacity = capacity;
	}
	lines->rows[lines->count] = (struct snapshot_line){ .frame = frame };
	entry->bits = ++lines->count;
	return &lines->rows[lines->count - 1];
}

static void collect(
	struct collection *all, const struct snapshot *snapshot, uint32_t stack, struct snapshot_live live, bool by_stack)
{
	uint32_t frame = snapshot->stacks.stacks[stack].own;
	struct snapshot_line *row = live.bytes || live.blocks ? row_for(all, by_stack ? stack : frame, frame) : NULL;
	if (!row) {
		all->has_failed |= live.bytes || live.blocks;
		return;
	}
	row->live.bytes += live.bytes;
	row->live.blocks += live.blocks;
	if (live.bytes >= row->stack_bytes) {
		row->stack = stack;
		row->stack_bytes = live.bytes;
	}
	all->lines.bytes += live.bytes;
}

static int by_bytes(const void *a, const void *b)
{
	const struct snapshot_line *x = a, *y = b;
	if (x->live.bytes != y->live.bytes)
		return x->live.bytes < y->live.bytes ? 1 : -1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static struct snapshot_lines finish(struct collection *all)
{
	struct snapshot_lines lines = all->lines;
	if (!all->has_failed && !lines.rows)
		lines.rows = malloc(sizeof *lines.rows);
	if (all->has_failed) {
		free(lines.rows);
		lines = (struct snapshot_lines){ 0 };
	}
	if (lines.count)
		qsort(lines.rows, lines.count, sizeof *lines.rows, by_bytes);
	profile_table_free(all->row_of);
	return lines;
}

/* The blocks of each stack are summed first: a line's largest stack is one of sums. */
static struct snapshot_lines collect_now(const struct snapshot *snapshot, bool by_stack)
{
	struct collection stacks = { .row_of = profile_table_new() }, lines = { 0 };
	for (size_t i = 0; i < snapshot->block_count; i++)
		collect(&stacks, snapshot, snapshot->blocks[i].stack,
			(struct snapshot_live){ snapshot->blocks[i].requested, 1 }, true);
	struct snapshot_lines all = finish(&stacks);
	if (by_stack)
		return all;
	lines.row_of = profile_table_new();
	lines.has_failed = !all.rows;
	for (size_t i = 0; i < all.count; i++)
		collect(&lines, snapshot, all.rows[i].stack, all.rows[i].live, false);
	snapshot_lines_release(&all);
	return finish(&lines);
}

struct snapshot_lines snapshot_lines_now(const struct snapshot *snapshot) { return collect_now(snapshot, false); }
struct snapshot_lines snapshot_stacks_now(const struct snapshot *snapshot) { return collect_now(snapshot, true); }

struct snapshot_lines snapshot_lines_at(
	const struct snapshot *snapshot, const struct snapshot_history *history, enum snapshot_mark mark)
{
	struct collection all = { .row_of = profile_table_new() };
	for (uint32_t i = 0; i < history->row_count; i++)
		collect(&all, snapshot, history->rows[i].stack, snapshot_row_at(history, &history->rows[i], mark), false);
	uint64_t unknown = snapshot_history_unknown(history, mark);
	collect(&all, snapshot, 0, (struct snapshot_live){ unknown, 0 }, false);
	return finish(&all);
}

void snapshot_lines_release(struct snapshot_lines *lines)
{
	free(lines->rows);
	*lines = (struct snapshot_lines){ 0 };
}

const char *snapshot_line_show(const struct snapshot *snapshot, uint32_t frame, char *out, size_t size)
{
	if (!frame)
		snprintf(out, size, "(no Python stack recorded)");
	else
		snapshot_frame_show(&snapshot->stacks, frame, false, out, size);
	return out;
}

const char *snapshot_callers_show(const struct snapshot *snapshot, uint32_t stack, char *out, size_t size)
{
	const struct snapshot_stacks *stacks = &snapshot->stacks;
	const struct snapshot_stack *found = &stacks->stacks[stack];
	bool is_above = false;
	int shown = 0;
	out[0] = '\0';
	for (uint32_t i = 0; i < found->count && shown < CALLERS_SHOWN; i++) {
		uint32_t frame = stacks->calls[found->first + i];
		char text[FRAME_SHOWN];
		size_t length = strlen(out);
		if (is_above && snapshot_frame_is_own(stacks, frame)) {
			int before = snprintf(text, sizeof text, "%s", shown ? " < " : "");
			snapshot_frame_show(stacks, frame, false, text + before, sizeof text - (size_t)before);
			text_clean(out + length, size - length, text, strlen(text));
			shown++;
		}
		is_above |= frame == found->own;
	}
	return out;
}
