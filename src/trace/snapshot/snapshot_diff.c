#include "src/trace/snapshot/snapshot_diff.h"

#include <math.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/trace/output/profile_text.h"
#include "src/trace/snapshot/snapshot_json.h"
#include "src/trace/snapshot/snapshot_lines.h"
#include "src/trace/snapshot/snapshot_pairs.h"

enum { ROWS_DEFAULT = 12, TEXT_SIZE = 512 };

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
	char number[NUMBER_SIZE];
	double difference = (double)(int64_t)(b - a);
	profile_cell(out, name, width - 41);
	profile_cell(out, format_bytes(number, (double)a), -9);
	profile_cell(out, format_bytes(number, (double)b), -9);
	profile_change_cells(out, difference, format_bytes(number, fabs(difference)), b ? (double)a : NAN,
		a       ? "gone"
			: b ? "new"
				: "–");
}

/* The lines that hold more come first; those that hold less are the last rows. */
static void print_lines(
	struct buffer *out, const struct snapshot *b, const struct snapshot_pairs *pairs, const struct profile_view *view)
{
	char text[TEXT_SIZE];
	size_t limit = view->limit ? view->limit : ROWS_DEFAULT, shown = 0;
	profile_heading(out, view, "IN USE by line of the program, by growth");
	for (size_t i = 0; i < pairs->count; i++) {
		const struct snapshot_pair *pair = &pairs->rows[i];
		if (snapshot_pair_change(pair) && shown++ < limit)
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
	struct snapshot_pairs pairs = snapshot_pairs_of(a, b);
	print_path(out, "A", a);
	print_path(out, "B", b);
	buffer_puts(out, "\n");
	profile_cell(out, "", view->width - 41);
	buffer_puts(out, "        A         B      B − A   change\n");
	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
		print_row(out, wholes[i].name, wholes[i].of(&sum_a), wholes[i].of(&sum_b), view->width);
	print_lines(out, b, &pairs, view);
	out->failed |= !pairs.rows;
	snapshot_pairs_release(&pairs);
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
	struct snapshot_pairs pairs = snapshot_pairs_of(a, b);
	json_open_object(json, NULL);
	json_text(json, "kind", "memory_snapshot");
	add_whole(json, "a", a);
	add_whole(json, "b", b);
	json_open_array(json, "lines");
	for (size_t i = 0; i < pairs.count; i++) {
		const struct snapshot_pair *pair = &pairs.rows[i];
		json_open_object(json, NULL);
		snapshot_line_as_json(json, b, pair->frame);
		json_unsigned(json, "a_bytes", pair->a.bytes);
		json_unsigned(json, "b_bytes", pair->b.bytes);
		json_integer(json, "change_bytes", snapshot_pair_change(pair));
		json_unsigned(json, "a_blocks", pair->a.blocks);
		json_unsigned(json, "b_blocks", pair->b.blocks);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
	json->out->failed |= !pairs.rows;
	snapshot_pairs_release(&pairs);
}
