#include "src/trace/snapshot/snapshot_diff.h"

#include <math.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/trace/output/profile_text.h"
#include "src/trace/snapshot/snapshot_json.h"
#include "src/trace/snapshot/snapshot_lines.h"

enum { ROWS_DEFAULT = 12, TEXT_SIZE = 512 };

struct pair {
	uint32_t frame; /* of b */
	struct snapshot_live a, b;
};

struct pairs {
	struct pair *rows; /* NULL: no memory */
	size_t count;
};

static int64_t change(const struct pair *pair) { return (int64_t)(pair->b.bytes - pair->a.bytes); }

static int by_frame(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static int by_change(const void *a, const void *b)
{
	int64_t x = change(a), y = change(b);
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
static void merge(struct pairs *pairs)
{
	size_t kept = 0;
	for (size_t i = 0; i < pairs->count; i++) {
		struct pair *row = &pairs->rows[i];
		if (kept && pairs->rows[kept - 1].frame == row->frame) {
			struct pair *into = &pairs->rows[kept - 1];
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

static struct pairs pairs_of(const struct snapshot *a, struct snapshot *b)
{
	struct snapshot_lines in_a = snapshot_lines_now(a), in_b = snapshot_lines_now(b);
	struct pairs pairs = { 0 };
	if (in_a.rows && in_b.rows)
		pairs.rows = calloc(in_a.count + in_b.count + 1, sizeof *pairs.rows);
	for (size_t i = 0; i < in_a.count && pairs.rows; i++)
		pairs.rows[pairs.count++] =
			(struct pair){ .frame = frame_in(b, a, in_a.rows[i].frame), .a = in_a.rows[i].live };
	for (size_t i = 0; i < in_b.count && pairs.rows; i++)
		pairs.rows[pairs.count++] = (struct pair){ .frame = in_b.rows[i].frame, .b = in_b.rows[i].live };
	if (pairs.rows) {
		qsort(pairs.rows, pairs.count, sizeof *pairs.rows, by_frame);
		merge(&pairs);
		qsort(pairs.rows, pairs.count, sizeof *pairs.rows, by_change);
	}
	snapshot_lines_release(&in_a);
	snapshot_lines_release(&in_b);
	return pairs;
}

/* -- the whole: of all devices -- */

static uint64_t reserved(const struct snapshot_group *sum) { return sum->reserved; }
static uint64_t allocated(const struct snapshot_group *sum) { return sum->requested + sum->rounding; }
static uint64_t split(const struct snapshot_group *sum) { return sum->split_bytes; }
static uint64_t unused(const struct snapshot_group *sum) { return sum->whole_bytes; }

static const struct {
	const char *name, *key;
	uint64_t (*of)(const struct snapshot_group *sum);
} wholes[] = { { "reserved", "reserved_bytes", reserved }, { "allocated", "allocated_bytes", allocated },
	{ "split (fragmentation)", "inactive_split_bytes", split },
	{ "unused segments", "inactive_segment_bytes", unused } };

/* -- text -- */

static void print_row(struct buffer *out, const char *name, uint64_t a, uint64_t b, int width)
{
	char number[NUMBER_SIZE], text[NUMBER_SIZE + 4];
	int64_t difference = (int64_t)(b - a);
	profile_cell(out, name, width - 41);
	profile_cell(out, format_bytes(number, (double)a), -9);
	profile_cell(out, format_bytes(number, (double)b), -9);
	snprintf(text, sizeof text, "%s%s", difference < 0 ? "−" : "+", format_bytes(number, fabs((double)difference)));
	profile_cell(out, text, -10);
	if (a && b)
		snprintf(
			text, sizeof text, "%s%.0f %%", difference < 0 ? "−" : "+", fabs((double)difference) / (double)a * 100);
	else
		snprintf(text, sizeof text, "%s", a ? "gone" : b ? "new" : "–");
	profile_cell(out, text, -8);
	out->data[--out->length] = '\0';
	buffer_puts(out, "\n");
}

/* The lines that hold more come first; those that hold less are the last rows. */
static void print_lines(
	struct buffer *out, const struct snapshot *b, const struct pairs *pairs, const struct profile_view *view)
{
	char text[TEXT_SIZE];
	size_t limit = view->limit ? view->limit : ROWS_DEFAULT, shown = 0;
	profile_heading(out, view, "IN USE by line of the program, by growth");
	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->rows[i];
		if (change(pair) && shown++ < limit)
			print_row(
				out, snapshot_line_show(b, pair->frame, text, sizeof text), pair->a.bytes, pair->b.bytes, view->width);
	}
	if (!shown)
		buffer_puts(out, "No line holds more or less.\n");
	if (shown > limit)
		buffer_printf(out, "  … %zu more (--json has all)\n", shown - limit);
}

static void print_path(struct buffer *out, const char *label, const struct snapshot *snapshot)
{
	char text[TEXT_SIZE];
	text_clean(text, sizeof text, snapshot->path, strlen(snapshot->path));
	buffer_printf(out, "%s %s\n", label, text);
	if (snapshot_loss(snapshot, text, sizeof text)[0])
		buffer_printf(out, "! %s\n", text);
}

void snapshot_diff_as_text(
	struct buffer *out, const struct snapshot *a, struct snapshot *b, const struct profile_view *view)
{
	struct snapshot_group sum_a = snapshot_sum(a, -1), sum_b = snapshot_sum(b, -1);
	struct pairs pairs = pairs_of(a, b);
	print_path(out, "A", a);
	print_path(out, "B", b);
	buffer_puts(out, "\n");
	profile_cell(out, "", view->width - 41);
	buffer_puts(out, "        A         B      B − A   change\n");
	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
		print_row(out, wholes[i].name, wholes[i].of(&sum_a), wholes[i].of(&sum_b), view->width);
	print_lines(out, b, &pairs, view);
	out->failed |= !pairs.rows;
	free(pairs.rows);
}

/* -- JSON -- */

static void add_whole(struct json *json, const char *key, const struct snapshot *snapshot)
{
	struct snapshot_group sum = snapshot_sum(snapshot, -1);
	char loss[400];
	json_open_object(json, key);
	json_text(json, "file", snapshot->path);
	json_text(json, "loss", snapshot_loss(snapshot, loss, sizeof loss)[0] ? loss : NULL);
	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
		json_unsigned(json, wholes[i].key, wholes[i].of(&sum));
	json_close_object(json);
}

void snapshot_diff_as_json(struct json *json, const struct snapshot *a, struct snapshot *b)
{
	struct pairs pairs = pairs_of(a, b);
	json_open_object(json, NULL);
	json_text(json, "kind", "memory_snapshot");
	add_whole(json, "a", a);
	add_whole(json, "b", b);
	json_open_array(json, "lines");
	for (size_t i = 0; i < pairs.count; i++) {
		const struct pair *pair = &pairs.rows[i];
		json_open_object(json, NULL);
		snapshot_line_as_json(json, b, pair->frame);
		json_unsigned(json, "a_bytes", pair->a.bytes);
		json_unsigned(json, "b_bytes", pair->b.bytes);
		json_integer(json, "change_bytes", change(pair));
		json_unsigned(json, "a_blocks", pair->a.blocks);
		json_unsigned(json, "b_blocks", pair->b.blocks);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
	json->out->failed |= !pairs.rows;
	free(pairs.rows);
}
