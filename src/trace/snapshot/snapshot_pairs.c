#include "src/trace/snapshot/snapshot_pairs.h"

#include <stdlib.h>

#include "src/trace/snapshot/snapshot_lines.h"

int64_t snapshot_pair_change(const struct snapshot_pair *pair) { return (int64_t)(pair->b.bytes - pair->a.bytes); }

static int by_frame(const void *a, const void *b)
{
	const struct snapshot_pair *x = a, *y = b;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static int by_change(const void *a, const void *b)
{
	int64_t x = snapshot_pair_change(a), y = snapshot_pair_change(b);
	return x != y ? (x < y ? 1 : -1) : by_frame(a, b);
}

static uint32_t name_in(struct snapshot *b, const struct snapshot *a, uint32_t name)
{
	return profile_names_add(&b->stacks.names, profile_names_text(&a->stacks.names, name));
}

/* The same frame among those of b. */
static uint32_t frame_in(struct snapshot *b, const struct snapshot *a, uint32_t frame)
{
	const struct snapshot_frame *found = &a->stacks.frames[frame];
	if (!frame)
		return 0;
	return snapshot_frame_add(&b->stacks, name_in(b, a, found->file), found->line, name_in(b, a, found->function));
}

/* Sorted by frame: makes one row of those of one frame. */
static void merge(struct snapshot_pairs *pairs)
{
	size_t kept = 0;
	for (size_t i = 0; i < pairs->count; i++) {
		struct snapshot_pair *row = &pairs->rows[i];
		if (kept && pairs->rows[kept - 1].frame == row->frame) {
			struct snapshot_pair *into = &pairs->rows[kept - 1];
			into->a.bytes += row->a.bytes;
			into->a.blocks += row->a.blocks;
			into->b.bytes += row->b.bytes;
			into->b.blocks += row->b.blocks;
		} else {
			pairs->rows[kept++] = *row;
		}
	}
	pairs->count = kept;
}

struct snapshot_pairs snapshot_pairs_of(const struct snapshot *a, struct snapshot *b)
{
	struct snapshot_lines in_a = snapshot_lines_now(a), in_b = snapshot_lines_now(b);
	struct snapshot_pairs pairs = { 0 };
	if (in_a.rows && in_b.rows)
		pairs.rows = calloc(in_a.count + in_b.count + 1, sizeof *pairs.rows);
	for (size_t i = 0; i < in_a.count && pairs.rows; i++)
		pairs.rows[pairs.count++] =
			(struct snapshot_pair){ .frame = frame_in(b, a, in_a.rows[i].frame), .a = in_a.rows[i].live };
	for (size_t i = 0; i < in_b.count && pairs.rows; i++)
		pairs.rows[pairs.count++] = (struct snapshot_pair){ .frame = in_b.rows[i].frame, .b = in_b.rows[i].live };
	if (pairs.rows) {
		qsort(pairs.rows, pairs.count, sizeof *pairs.rows, by_frame);
		merge(&pairs);
		qsort(pairs.rows, pairs.count, sizeof *pairs.rows, by_change);
	}
	snapshot_lines_release(&in_a);
	snapshot_lines_release(&in_b);
	return pairs;
}

void snapshot_pairs_release(struct snapshot_pairs *pairs)
{
	free(pairs->rows);
	*pairs = (struct snapshot_pairs){ 0 };
}
