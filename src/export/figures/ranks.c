#include "src/export/figures/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/explain/collective_words.h"
#include "src/explain/rank_words.h"
#include "src/export/table.h"

static void compare(const struct model *model, int run, struct ranks *out)
{
	ranks_compare(model, run < 0 ? model->run_count : (unsigned)run, out);
}

/* -- JSON -- */

static void write_rank(struct json *json, const struct rank *rank, bool is_slowest)
{
	json_open_object(json, NULL);
	json_integer(json, "rank", rank->number);
	if (rank->pid)
		json_integer(json, "pid", rank->pid);
	json_text(json, "state", rank_state_name(rank->state));
	json_unsigned(json, "batches", rank->batches);
	json_number(json, "step_s", rank->step_s);
	json_number(json, "own_s", rank->own_s);
	json_open_object(json, "phases");
	for (size_t i = 0; i < rank->phase_count; i++)
		json_number(json, rank->phases[i].name, rank->phases[i].median_s);
	json_close_object(json);
	json_number(json, "last_batch_age_s", rank->last_batch_age_s);
	json_text(json, "open_span", rank->where);
	json_number(json, "loss", rank->loss);
	json_number(json, "rss_bytes", rank->resident_bytes);
	json_bool(json, "is_slowest", is_slowest);
	json_close_object(json);
}

static void write_slowest(struct json *json, const struct ranks *ranks)
{
	char words[RANK_WORDS_SIZE];
	const struct rank *rank = &ranks->list[ranks->slowest];
	json_open_object(json, "slowest");
	json_integer(json, "rank", rank->number);
	json_number(json, "own_s", rank->own_s);
	json_number(json, "others_own_s", ranks->others_own_s);
	json_number(json, "excess_s", ranks->excess_s);
	json_number(json, "excess_ratio", ranks->excess_ratio);
	json_text(json, "phase", ranks->phase);
	json_number(json, "phase_s", ranks->phase_s);
	json_number(json, "phase_others_s", ranks->phase_others_s);
	json_text(json, "others_wait_in", ranks->wait);
	json_number(json, "others_wait_s", ranks->wait ? ranks->wait_s : NAN);
	json_text(json, "message", rank_words_slowest(ranks, words));
	json_close_object(json);
}

static void write_still(struct json *json, const struct ranks *ranks)
{
	char words[RANK_WORDS_SIZE];
	const struct rank *rank = &ranks->list[ranks->still];
	json_open_object(json, "still");
	json_integer(json, "rank", rank->number);
	json_text(json, "state", rank_state_name(rank->state));
	json_number(json, "still_s", rank->still_s);
	json_text(json, "others_wait_in", ranks->still_wait);
	json_text(json, "message", rank_words_still(ranks, words));
	json_close_object(json);
}

void ranks_as_json(struct json *json, const struct model *model, int run)
{
	struct ranks ranks;
	compare(model, run, &ranks);
	if (ranks.count == 0)
		return;
	json_integer(json, "world_size", ranks.world_size);
	json_open_array(json, "ranks");
	for (size_t i = 0; i < ranks.count; i++)
		write_rank(json, &ranks.list[i], (int)i == ranks.slowest);
	json_close_array(json);
	if (ranks.slowest >= 0)
		write_slowest(json, &ranks);
	if (ranks.still >= 0)
		write_still(json, &ranks);
}

/* -- text -- */

enum { NUMBER_CELLS = 8, PHASE_CELLS = 26 };

static void add_row(struct buffer *out, const struct rank *rank, bool is_slowest)
{
	char text[96], number[NUMBER_SIZE];
	snprintf(text, sizeof text, "%ld%s", rank->number, is_slowest ? " slowest" : "");
	buffer_printf(out, "%-11s%8" PRId32, text, rank->pid);
	snprintf(text, sizeof text, "%" PRIu64, rank->batches);
	table_right(out, 9, text);
	table_seconds(out, NUMBER_CELLS + 1, rank->step_s);
	table_seconds(out, NUMBER_CELLS + 1, rank->own_s);
	snprintf(text, sizeof text, "–");
	if (rank->phase_count)
		snprintf(text, sizeof text, "%.14s %s", rank->phases[0].name, format_seconds(number, rank->phases[0].median_s));
	table_right(out, PHASE_CELLS - 2, text);
	table_right(out, 10, format_bytes(number, rank->resident_bytes));
	buffer_printf(out, "  %s\n", rank_state_name(rank->state));
}

void ranks_as_table(struct buffer *out, const struct model *model, int run)
{
	struct ranks ranks;
	char words[RANK_WORDS_SIZE], collectives[COLLECTIVE_WORDS_SIZE], title[64] = "RANKS";
	compare(model, run, &ranks);
	if (ranks.count < 2)
		return;
	if (ranks.world_size > (long)ranks.count)
		snprintf(title, sizeof title, "RANKS (%zu of %ld are here)", ranks.count, ranks.world_size);
	table_title(out, title);
	buffer_puts(out, "Rank            PID  Batches Step (s)  Own (s)           Largest phase  Resident  State\n");
	table_rule(out, '-');
	for (size_t i = 0; i < ranks.count; i++)
		add_row(out, &ranks.list[i], (int)i == ranks.slowest);
	table_rule(out, '-');
	if (*collective_words_verdict(model, collectives))
		buffer_printf(out, "%s\n", collectives);
	if (*rank_words_still(&ranks, words))
		buffer_printf(out, "%s\n", words);
	buffer_printf(out, "%s\n", *rank_words_slowest(&ranks, words) ? words : "too few steps to compare them");
	table_rule(out, '=');
	buffer_puts(out, "\n");
}

void ranks_as_line(struct buffer *out, const struct model *model, int run)
{
	struct ranks ranks;
	char words[RANK_WORDS_SIZE], collectives[COLLECTIVE_WORDS_SIZE];
	compare(model, run, &ranks);
	if (*collective_words_verdict(model, collectives))
		buffer_printf(out, "  Ranks: %s\n", collectives);
	else if (ranks.count >= 2 && *rank_words(&ranks, words))
		buffer_printf(out, "  Ranks: %s\n", words);
}
