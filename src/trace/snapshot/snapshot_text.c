#include "src/trace/snapshot/snapshot_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/trace/output/profile_text.h"
#include "src/trace/snapshot/snapshot_lines.h"

enum { ROWS_DEFAULT = 12, TEXT_SIZE = 512, GROUPS_SHOWN = 12, OOMS_SHOWN = 5 };

static const char *bytes_text(char out[NUMBER_SIZE], uint64_t bytes) { return format_bytes(out, (double)bytes); }

static double share(uint64_t part, uint64_t whole) { return whole ? (double)part / (double)whole : NAN; }

static void end_row(struct buffer *out)
{
	while (out->length && out->data[out->length - 1] == ' ')
		out->data[--out->length] = '\0';
	buffer_puts(out, "\n");
}

/* -- head -- */

static void print_head(struct buffer *out, const struct snapshot *snapshot)
{
	char text[TEXT_SIZE], number[NUMBER_SIZE];
	const char *slash = strrchr(snapshot->path, '/'), *name = slash ? slash + 1 : snapshot->path;
	text_clean(text, sizeof text, name, strlen(name));
	buffer_printf(out, "%s: memory snapshot, %s segments", text, format_grouped(number, snapshot->segments));
	buffer_printf(out, ", %s blocks in use\n", format_grouped(number, snapshot->block_count));
	if (snapshot_loss(snapshot, text, sizeof text)[0])
		buffer_printf(out, "! %s\n", text);
}

/* -- totals -- */

static void total(struct buffer *out, const char *what, uint64_t bytes, uint64_t of, const char *meaning)
{
	char number[NUMBER_SIZE];
	profile_cell(out, what, 13);
	profile_cell(out, bytes_text(number, bytes), -9);
	profile_cell(out, format_percent(number, share(bytes, of)), -6);
	buffer_printf(out, " %s", meaning);
	end_row(out);
}

static void print_totals(struct buffer *out, const struct snapshot_group *sum)
{
	char text[TEXT_SIZE], one[NUMBER_SIZE], two[NUMBER_SIZE];
	total(out, "reserved", sum->reserved, sum->reserved, "from CUDA");
	snprintf(text, sizeof text, "%s requested, %s rounding", bytes_text(one, sum->requested),
		bytes_text(two, sum->rounding));
	total(out, "allocated", sum->requested + sum->rounding, sum->reserved, text);
	if (sum->awaiting)
		total(out, "awaiting free", sum->awaiting, sum->reserved, "freed, but another stream may still use it");
	snprintf(
		text, sizeof text, "fragmentation: %s free blocks in used segments", format_grouped(one, sum->split_blocks));
	total(out, "split", sum->split_bytes, sum->reserved, text);
	total(out, "unused", sum->whole_bytes, sum->reserved, "what torch.cuda.empty_cache() gives back");
}

static void print_group(struct buffer *out, const struct snapshot *snapshot, const struct snapshot_group *group)
{
	char text[TEXT_SIZE], number[NUMBER_SIZE];
	struct profile_slice kind = profile_names_text(&snapshot->stacks.names, group->kind);
	int length = (int)text_clean(text, 64, kind.text, kind.length);
	snprintf(text + length, sizeof text - (size_t)length, "%s%s", length ? "" : "unknown",
		group->is_expandable ? ", expandable" : "");
	profile_cell(out, text, 17);
	snprintf(text, sizeof text, "%" PRId64, group->stream);
	profile_cell(out, text, -8);
	profile_cell(out, format_grouped(number, group->segments), -9);
	profile_cell(out, bytes_text(number, group->reserved), -9);
	profile_cell(out, bytes_text(number, group->requested + group->rounding), -9);
	profile_cell(out, bytes_text(number, group->split_bytes), -9);
	profile_cell(out, bytes_text(number, group->whole_bytes), -9);
	end_row(out);
}

static void print_groups(
	struct buffer *out, const struct snapshot *snapshot, int32_t device, const struct profile_view *view)
{
	size_t shown = 0, limit = view->limit ? view->limit : GROUPS_SHOWN;
	profile_heading(out, view, "SEGMENTS");
	buffer_puts(out, "kind                stream  segments  reserved allocated     split    unused\n");
	for (size_t i = 0; i < snapshot->group_count; i++)
		if (snapshot->groups[i].device == device && shown++ < limit)
			print_group(out, snapshot, &snapshot->groups[i]);
	if (shown > limit)
		buffer_printf(out, "  … %zu more (--limit=%zu)\n", shown - limit, shown);
}

/* -- lines -- */

static void print_lines(struct buffer *out, const struct snapshot *snapshot, const struct snapshot_lines *lines,
	const struct profile_view *view)
{
	char text[TEXT_SIZE], number[NUMBER_SIZE];
	size_t limit = view->limit ? view->limit : ROWS_DEFAULT;
	buffer_puts(out, "    bytes   share  blocks  line\n");
	for (size_t i = 0; i < lines->count && i < limit; i++) {
		const struct snapshot_line *line = &lines->rows[i];
		profile_cell(out, bytes_text(number, line->live.bytes), -9);
		profile_cell(out, format_percent(number, share(line->live.bytes, lines->bytes)), -7);
		profile_cell(out, line->live.blocks ? format_grouped(number, line->live.blocks) : "–", -7);
		buffer_puts(out, " ");
		profile_cell(out, snapshot_line_show(snapshot, line->frame, text, sizeof text), view->width - 27);
		end_row(out);
		if (!snapshot_callers_show(snapshot, line->stack, text, sizeof text)[0])
			continue;
		buffer_printf(out, "%26s< ", "");
		profile_cell(out, text, view->width - 29);
		end_row(out);
	}
	if (lines->count > limit)
		buffer_printf(out, "  … %zu more lines (--limit=%zu)\n", lines->count - limit, lines->count);
	out->failed |= !lines->rows;
}

/* -- history -- */

/* "event 5,123 of 10,000, 2.31 s before its end" */
static void print_moment(struct buffer *out, const struct snapshot_history *history, uint64_t event, int64_t time_us)
{
	char number[NUMBER_SIZE];
	if (!event) {
		buffer_puts(out, "at the begin of the history");
		return;
	}
	buffer_printf(out, "event %s", format_grouped(number, event));
	buffer_printf(out, " of %s", format_grouped(number, history->events));
	if (time_us && history->last_us > time_us)
		buffer_printf(out, ", %s before the last", format_seconds(number, (double)(history->last_us - time_us) / 1e6));
}

static void print_peak(struct buffer *out, const struct snapshot *snapshot, const struct snapshot_history *history,
	const struct profile_view *view)
{
	const struct snapshot_moment *peak = &history->marks[SNAPSHOT_PEAK];
	char number[NUMBER_SIZE];
	struct snapshot_lines lines = snapshot_lines_at(snapshot, history, SNAPSHOT_PEAK);
	profile_heading(out, view, "LIVE AT THE PEAK, by line of the program");
	buffer_printf(out, "%s live", bytes_text(number, snapshot_history_live(history, peak->live_delta)));
	buffer_printf(out, ", %s reserved\n", bytes_text(number, snapshot_history_reserved(history, peak->reserved_delta)));
	print_moment(out, history, peak->event, peak->time_us);
	buffer_puts(out, "\n");
	if (history->unknown_frees || history->before.blocks)
		buffer_printf(out, "Partial: %s were allocated before the history; the real peak may be higher\n",
			bytes_text(number, history->unknown_freed + history->before.bytes));
	print_lines(out, snapshot, &lines, view);
	snapshot_lines_release(&lines);
}

static void print_oom(struct buffer *out, const struct snapshot *snapshot, const struct snapshot_history *history,
	const struct snapshot_oom *oom, const struct profile_view *view)
{
	char number[NUMBER_SIZE], text[TEXT_SIZE];
	buffer_printf(out, "%s requested", bytes_text(number, oom->size));
	if (oom->has_device_free)
		buffer_printf(out, ", %s free on the GPU", bytes_text(number, oom->device_free));
	buffer_printf(out, ", %s live\n  ", bytes_text(number, snapshot_history_live(history, oom->live_delta)));
	print_moment(out, history, oom->event, oom->time_us);
	buffer_puts(out, "\n  by ");
	profile_cell(
		out, snapshot_line_show(snapshot, snapshot->stacks.stacks[oom->stack].own, text, sizeof text), view->width - 6);
	end_row(out);
}

static void print_ooms(struct buffer *out, const struct snapshot *snapshot, const struct snapshot_history *history,
	const struct profile_view *view)
{
	char text[TEXT_SIZE];
	if (!history->oom_count)
		return;
	snprintf(
		text, sizeof text, "OUT OF MEMORY, %" PRIu64 " time%s", history->oom_count, history->oom_count == 1 ? "" : "s");
	profile_heading(out, view, text);
	uint64_t first = history->oom_count > OOMS_SHOWN ? history->oom_count - OOMS_SHOWN : 0;
	for (uint64_t i = first; i < history->oom_count; i++)
		print_oom(out, snapshot, history, &history->ooms[i % SNAPSHOT_OOMS_MAX], view);
	struct snapshot_lines lines = snapshot_lines_at(snapshot, history, SNAPSHOT_LAST_OOM);
	buffer_printf(out, "Live %s, by line of the program:\n", history->oom_count > 1 ? "at the last one" : "then");
	print_lines(out, snapshot, &lines, view);
	snapshot_lines_release(&lines);
}

/* -- the whole -- */

static void print_device(
	struct buffer *out, const struct snapshot *snapshot, int32_t device, const struct profile_view *view)
{
	struct snapshot_group sum = snapshot_sum(snapshot, device);
	const struct snapshot_history *history = snapshot_history_of(snapshot, device);
	char text[32];
	if (!sum.segments && !history)
		return;
	snprintf(text, sizeof text, "GPU %" PRId32, device);
	profile_heading(out, view, text);
	print_totals(out, &sum);
	if (sum.segments)
		print_groups(out, snapshot, device, view);
	if (history) {
		print_peak(out, snapshot, history, view);
		print_ooms(out, snapshot, history, view);
	}
}

void snapshot_as_text(struct buffer *out, const struct snapshot *snapshot, const struct profile_view *view)
{
	struct snapshot_lines lines = snapshot_lines_now(snapshot);
	print_head(out, snapshot);
	for (int32_t device = 0; device < SNAPSHOT_DEVICES_MAX; device++)
		print_device(out, snapshot, device, view);
	if (!snapshot->history_count)
		buffer_puts(out, "\nNo history: pmtop.torch.memory_history() in the program records one.\n");
	if (snapshot->block_count) {
		profile_heading(out, view, "IN USE at the snapshot, by line of the program");
		print_lines(out, snapshot, &lines, view);
	}
	snapshot_lines_release(&lines);
}
