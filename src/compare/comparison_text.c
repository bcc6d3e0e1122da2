#include "src/compare/comparison_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/compare/comparison.h"
#include "src/compare/page.h"

enum {
	VALUE_CELLS = 9,
	CHANGE_CELLS = 10,
	INTERVAL_CELLS = 13,
	EFFECT_CELLS = 7,
	VERDICT_CELLS = 10,
	NAME_CELLS_MAX = 48
};

static int name_cells(int width)
{
	int room = width - 2 * VALUE_CELLS - CHANGE_CELLS - INTERVAL_CELLS - EFFECT_CELLS - VERDICT_CELLS;
	return room < 22 ? 22 : room > NAME_CELLS_MAX ? NAME_CELLS_MAX : room;
}

/* "1.17×"; three significant digits. */
static const char *ratio_text(char out[PAGE_VALUE], double ratio)
{
	if (!isfinite(ratio))
		snprintf(out, PAGE_VALUE, "–");
	else
		snprintf(out, PAGE_VALUE, ratio < 9.995 ? "%.2f×" : ratio < 99.95 ? "%.1f×" : "%.3g×", ratio);
	return out;
}

static void interval_text(char out[PAGE_VALUE], const struct comparison_row *row, bool is_rough)
{
	char half[PAGE_VALUE];
	out[0] = '\0';
	if (!row->has_interval)
		return;
	if (row->group == ROW_PHASE)
		snprintf(out, PAGE_VALUE, "± %s", page_value(half, ROW_SECONDS, (row->high - row->low) / 2));
	else
		snprintf(out, PAGE_VALUE, row->high < 9.995 ? "%s%.2f–%.2f" : "%s%.3g–%.3g", is_rough ? "~" : "", row->low,
			row->high);
}

/* Without trailing blanks. */
static void end_line(struct buffer *out)
{
	while (out->length && out->data[out->length - 1] == ' ')
		out->data[--out->length] = '\0';
	buffer_puts(out, "\n");
}

static void write_row(struct buffer *out, const struct comparison *comparison, const struct comparison_row *row,
	int width, bool has_color)
{
	char name[2 * SUMMARY_NAME + 40], a[PAGE_VALUE], b[PAGE_VALUE], change[PAGE_VALUE], interval[PAGE_VALUE],
		effect[16] = "";
	bool is_part = row->group == ROW_PHASE || row->group == ROW_OPERATION || row->group == ROW_GAUGE;
	snprintf(name, sizeof name, "%*s%s", is_part ? 2 : 0, "", row->what);
	if (row->group == ROW_PHASE)
		page_change(change, row->change);
	else
		ratio_text(change, row->change);
	interval_text(interval, row, comparison->is_rough);
	if (isfinite(row->effect))
		snprintf(effect, sizeof effect, "%+.2f", row->effect);
	page_left(out, name_cells(width), name);
	page_right(out, VALUE_CELLS, page_value(a, row->unit, row->a));
	page_right(out, VALUE_CELLS, page_value(b, row->unit, row->b));
	page_right(out, CHANGE_CELLS, change);
	page_right(out, INTERVAL_CELLS, interval);
	page_right(out, EFFECT_CELLS, effect);
	if (row->verdict != VERDICT_NONE) {
		buffer_puts(out, "  ");
		page_verdict(out, row->verdict, has_color);
	}
	end_line(out);
}

/* Whether a row has an interval below the heading of this group; that of steps is above the untitled groups too. */
static bool has_interval(const struct comparison *comparison, enum row_group heading)
{
	bool has_any = false;
	for (size_t i = 0; i < comparison->row_count; i++) {
		enum row_group group = comparison->rows[i].group;
		bool is_below = group == heading || (heading == ROW_STEP && group != ROW_PHASE && group != ROW_OPERATION);
		has_any |= is_below && comparison->rows[i].has_interval;
	}
	return has_any;
}

static bool has_effect(const struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->row_count; i++)
		if (isfinite(comparison->rows[i].effect))
			return true;
	return false;
}

static bool has_group(const struct comparison *comparison, enum row_group group)
{
	for (size_t i = 0; i < comparison->row_count; i++)
		if (comparison->rows[i].group == group)
			return true;
	return false;
}

static void write_group(struct buffer *out, const struct comparison *comparison, enum row_group group,
	const char *title, const char *change, int width, bool has_color)
{
	if (!has_group(comparison, group))
		return;
	if (title) {
		buffer_puts(out, "\n");
		page_title(out, title, has_color);
	}
	if (change) {
		page_left(out, name_cells(width), "");
		page_right(out, VALUE_CELLS, "A");
		page_right(out, VALUE_CELLS, "B");
		page_right(out, CHANGE_CELLS, change);
		page_right(out, INTERVAL_CELLS, has_interval(comparison, group) ? "95 %" : "");
		if (group == ROW_STEP && has_effect(comparison))
			page_right(out, EFFECT_CELLS, "effect");
		end_line(out);
	}
	for (size_t i = 0; i < comparison->row_count; i++)
		if (comparison->rows[i].group == group)
			write_row(out, comparison, &comparison->rows[i], width, has_color);
}

static void write_who(struct buffer *out, char letter, const struct summary *of, int width)
{
	char line[800], size[48] = "", cpus[32] = "", done[80];
	bool has_batches = of->batches || !summary_has_content(of);
	if (isfinite(of->batch_size))
		snprintf(size, sizeof size, ", batch size %.0f", of->batch_size);
	if (isfinite(of->cpus))
		snprintf(cpus, sizeof cpus, ", %.0f CPU%s", of->cpus, of->cpus > 1 ? "s" : "");
	if (has_batches)
		snprintf(done, sizeof done, "%llu batches (%llu judged)", (unsigned long long)of->batches,
			(unsigned long long)of->seen);
	else
		snprintf(done, sizeof done, "%zu operation%s", of->operation_count, of->operation_count == 1 ? "" : "s");
	snprintf(line, sizeof line, "%c  %s: %s%s%s%s%s, %s%s", letter, summary_name(of),
		of->run[0]           ? of->run
			: of->command[0] ? of->command
							 : "a run",
		of->host[0] ? " on " : "", of->host, cpus, size, done, of->origin == ORIGIN_REPORT ? ", a saved report" : "");
	page_wrap(out, width, 3, line);
}

static void write_metas(struct buffer *out, const struct comparison *comparison, int width, bool has_color)
{
	if (!comparison->meta_count)
		return;
	buffer_puts(out, "\n");
	page_title(out, "Different parameters", has_color);
	for (size_t i = 0; i < comparison->meta_count; i++) {
		char line[600];
		snprintf(line, sizeof line, "  %s: %s → %s", comparison->meta[i].key,
			comparison->meta[i].a ? comparison->meta[i].a : "–", comparison->meta[i].b ? comparison->meta[i].b : "–");
		buffer_puts(out, "  ");
		page_wrap(out, width - 2, 4, line + 2);
	}
}

static size_t add_explanation(const struct comparison *comparison, char *out, size_t size, size_t used)
{
	char part[PAGE_VALUE], whole[PAGE_VALUE];
	for (unsigned i = 0; i < 3 && comparison->explains[i] && used < size; i++) {
		const struct comparison_row *row = comparison->explains[i];
		if (i == 0)
			used += (size_t)snprintf(out + used, size - used, "; %s: %s of %s", row->what,
				page_change(part, row->change), page_change(whole, comparison->difference_s));
		else
			used += (size_t)snprintf(out + used, size - used, ", %s %s", row->what, page_change(part, row->change));
	}
	return used;
}

void comparison_sentence(const struct comparison *comparison, char *out, size_t size)
{
	const struct comparison_row *row = comparison->judged;
	char range[80] = "";
	if (!row) {
		snprintf(out, size, "cannot compare: a run has no steps, and they share no operation");
		return;
	}
	bool is_rate = row->unit == ROW_PER_SECOND;
	char subject[2 * SUMMARY_NAME + 32];
	snprintf(subject, sizeof subject, row->group == ROW_OPERATION ? "%s takes" : "%s",
		is_rate                           ? "it handles"
			: row->group == ROW_OPERATION ? row->what
			: row->group == ROW_REQUEST   ? "95 % of the requests take up to"
										  : "a step takes");
	if (row->has_interval)
		snprintf(
			range, sizeof range, " (95 %%: %s%.2f to %.2f)", comparison->is_rough ? "about " : "", row->low, row->high);
	size_t used = (size_t)snprintf(out, size, "%s: %s %.2f times %s%s",
		row->verdict == VERDICT_NONE          ? "B compared with A, without an interval"
			: row->verdict == VERDICT_UNCLEAR ? "unclear, too much noise"
			: row->verdict == VERDICT_SAME    ? "B is the same within noise"
			: row->verdict == VERDICT_SLOWER  ? "B is slower"
											  : "B is faster",
		subject, row->change,
		is_rate ? (strstr(row->what, "samples") ? "the samples a second" : "the steps a second") : "as long", range);
	if (used < size && row->verdict != VERDICT_SAME && row->verdict != VERDICT_UNCLEAR && !is_rate)
		add_explanation(comparison, out, size, used);
}

void comparison_as_text(struct buffer *out, const struct comparison *comparison, int width, bool has_color)
{
	char sentence[600];
	write_who(out, 'A', comparison->a, width);
	write_who(out, 'B', comparison->b, width);
	comparison_sentence(comparison, sentence, sizeof sentence);
	buffer_puts(out, "\n");
	page_wrap(out, width, 0, sentence);
	for (size_t i = 0; i < comparison->note_count; i++)
		page_wrap(out, width, 2, comparison->notes[i]);
	buffer_puts(out, "\n");
	write_group(out, comparison, ROW_STEP, NULL, "B ÷ A", width, has_color);
	static const enum row_group untitled[] = { ROW_REQUEST, ROW_MEMORY, ROW_GPU, ROW_ENERGY };
	for (size_t i = 0; i < sizeof untitled / sizeof *untitled; i++)
		write_group(out, comparison, untitled[i], NULL, NULL, width, has_color);
	write_group(out, comparison, ROW_GAUGE, "Gauges: last values", NULL, width, has_color);
	write_group(out, comparison, ROW_PHASE,
		comparison->is_rough ? "Phases of a step: means" : "Phases of a step: means of the middle 90 % of the steps",
		"B − A", width, has_color);
	write_group(out, comparison, ROW_OPERATION, "Operations: mean time over the whole run", "B ÷ A", width, has_color);
	write_metas(out, comparison, width, has_color);
}
