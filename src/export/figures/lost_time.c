#include "src/export/figures/lost_time.h"

#include <stdio.h>

#include "src/base/text.h"
#include "src/explain/lost_words.h"
#include "src/export/table.h"

static void write_rank(struct json *json, int rank, struct lost_who who)
{
	if (rank < 0)
		return;
	if (who.number >= 0)
		json_integer(json, "rank", who.number);
	json_integer(json, "pid", who.pid);
}

static void write_without(struct json *json, const struct lost_time *lost)
{
	char words[LOST_WORDS_SIZE];
	if (lost->without < 0)
		return;
	json_open_object(json, "without");
	write_rank(json, lost->without, lost->without_who);
	json_number(json, "step_s", lost->step_s);
	json_number(json, "speedup_ratio", lost->speedup_ratio);
	json_text(json, "message", lost_words_without(lost, words));
	json_close_object(json);
}

void lost_time_as_json(struct json *json, const struct model *model)
{
	struct lost_time lost;
	lost_time_measure(model, &lost);
	if (!lost.is_known)
		return;
	json_open_object(json, "lost_time");
	json_number(json, "rank_seconds", lost.rank_seconds);
	json_number(json, "lost_rank_seconds", lost.lost_s);
	json_open_array(json, "causes");
	for (size_t i = 0; i < lost.count; i++) {
		json_open_object(json, NULL);
		json_text(json, "cause", lost_cause_name(lost.rows[i].cause));
		write_rank(json, lost.rows[i].rank, lost.rows[i].who);
		json_number(json, "seconds", lost.rows[i].seconds);
		json_number(json, "share_ratio", lost.rows[i].share_ratio);
		json_close_object(json);
	}
	json_close_array(json);
	write_without(json, &lost);
	json_close_object(json);
}

void lost_time_as_table(struct buffer *out, const struct model *model)
{
	struct lost_time lost;
	char text[LOST_WORDS_SIZE], share[NUMBER_SIZE], title[LOST_WORDS_SIZE];
	lost_time_measure(model, &lost);
	if (!lost.is_known)
		return;
	snprintf(title, sizeof title, "LOST TIME: %.100s", lost_words_total(&lost, text));
	table_title(out, title);
	table_name(out, 0, "Cause");
	table_right(out, 14, "Rank");
	table_right(out, 16, lost.is_device ? "GPU-seconds" : "Rank-seconds");
	table_right(out, 10, "Percent");
	buffer_puts(out, "\n");
	table_rule(out, '-');
	for (size_t i = 0; i < lost.count; i++) {
		const struct lost_row *row = &lost.rows[i];
		table_name(out, 0, lost_cause_name(row->cause));
		table_right(out, 14, lost_words_rank(row, text));
		table_right(out, 16, lost_words_seconds(row->seconds, text));
		table_right(out, 10, format_percent(share, row->share_ratio));
		buffer_puts(out, "\n");
	}
	if (lost.without >= 0) {
		table_rule(out, '-');
		buffer_printf(out, "%s\n", lost_words_without(&lost, text));
	}
	table_rule(out, '=');
	buffer_puts(out, "\n");
}
