#include "src/export/text/report_memory.h"

#include <math.h>

#include "src/base/text.h"
#include "src/export/table.h"
#include "src/model/memory/memory_words.h"

static void add_bytes(struct buffer *out, const char *name, double bytes)
{
	char text[NUMBER_SIZE];
	table_name(out, 0, name);
	table_right(out, 11, format_bytes(text, bytes));
	buffer_puts(out, "\n");
}

/* "+3.80 MB a second (+3.10 MB to +4.40 MB)" */
static void add_slope(struct buffer *out, const char *name, double slope, double low, double high)
{
	char text[3][NUMBER_SIZE];
	if (isnan(slope))
		return;
	table_name(out, 0, name);
	table_right(out, 11, format_bytes(text[0], slope));
	buffer_printf(out, "   (95 %%: %s to %s)\n", format_bytes(text[1], low), format_bytes(text[2], high));
}

static void add_allocator(struct buffer *out, const struct run *run)
{
	struct allocator allocator = run_allocator(run);
	const struct {
		const char *name;
		double bytes;
	} rows[] = {
		{ "GPU allocated", allocator.allocated_bytes },
		{ "GPU reserved", allocator.reserved_bytes },
		{ "GPU peak", allocator.peak_bytes },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!isnan(rows[i].bytes))
			add_bytes(out, rows[i].name, rows[i].bytes);
}

static void add_growth(struct buffer *out, const struct memory *memory)
{
	char text[NUMBER_SIZE];
	if (!isnan(memory->growth_per_epoch))
		add_bytes(out, "Tree's growth an epoch", memory->growth_per_epoch);
	if (!memory->grower[0])
		return;
	table_name(out, 0, "Grows the most");
	table_right(out, 11, format_percent(text, memory->grower_share_ratio));
	buffer_printf(out, "   of the growth: %s%s%s\n", memory->grower, memory->grower_kind ? ", " : "",
		memory->grower_kind ? memory_kind_word(memory->grower_kind) : "");
}

static void add_limit(struct buffer *out, const struct memory *memory)
{
	char text[NUMBER_SIZE];
	if (!memory->limit)
		return;
	table_name(out, 0, "Room to the nearest limit");
	table_right(out, 11, format_bytes(text, memory->limit_room_bytes));
	buffer_printf(out, "   (%s: %s)\n", memory->limit, format_bytes(text, memory->limit_bytes));
	if (isnan(memory->limit_in_s))
		return;
	table_name(out, 0, "Full at this rate in");
	table_right(out, 11, format_seconds(text, memory->limit_in_s));
	buffer_puts(out, "\n");
}

static void add_verdict(struct buffer *out, const struct memory *memory)
{
	if (memory->verdict == MEMORY_NOT_JUDGED)
		return;
	table_name(out, 0, "Verdict");
	table_right(out, 11, memory_verdict_word(memory->verdict));
	buffer_puts(out, "\n");
	if (!memory_is_growing(memory))
		return;
	buffer_printf(out, "    %s\n", memory_meaning(memory));
	buffer_printf(out, "    try: %s\n", memory_next_step(memory));
}

void report_memory(struct buffer *out, const struct memory *memory, const struct run *run)
{
	table_title(out, "MEMORY");
	add_bytes(out, "Resident set", memory->rss_bytes);
	add_bytes(out, "Peak", memory->peak_rss_bytes);
	add_bytes(out, "Anonymous", memory->anonymous_bytes);
	add_bytes(out, "File", memory->file_bytes);
	add_bytes(out, "Shared", memory->shared_bytes);
	add_bytes(out, "Swapped out", memory->swap_bytes);
	add_bytes(out, "Whole tree, upper bound", memory->tree_rss_bytes);
	if (run)
		add_allocator(out, run);
	if (memory->slope.points)
		add_slope(
			out, "Tree's growth a second", memory->slope.per_s, memory->slope.low_per_s, memory->slope.high_per_s);
	add_slope(out, "Tree's growth a batch", memory->slope_per_batch, memory->slope_per_batch_low,
		memory->slope_per_batch_high);
	add_growth(out, memory);
	add_limit(out, memory);
	add_verdict(out, memory);
	table_rule(out, '=');
}
