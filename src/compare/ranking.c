#include "src/compare/ranking.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/compare/compare_json.h"
#include "src/compare/comparison_json.h"
#include "src/compare/page.h"
#include "src/compare/ranking_columns.h"
#include "src/compare/wholes.h"

/* -- the key -- */

static double value_of(const struct ranking_key *key, const struct summary *of)
{
	if (key->whole)
		return whole_value(of, key->whole);
	return key->is_per_s ? summary_gauge(of, key->gauge) / of->train_s : summary_gauge(of, key->gauge);
}

static bool is_rate(const struct ranking_key *key) { return key->whole && key->whole->unit == ROW_PER_SECOND; }

static const char *default_word(const struct summary *const *summaries, size_t count)
{
	bool has_steps = false, has_samples = true;
	for (size_t i = 0; i < count; i++) {
		/* A run without steps has no rate, neither of steps nor of samples. */
		has_samples &= isfinite(summaries[i]->samples_per_s) || !isfinite(summaries[i]->steps_per_s);
		has_steps |= isfinite(summaries[i]->steps_per_s);
	}
	return !has_steps ? "train-time" : has_samples ? "samples/s" : "steps/s";
}

static void set_key(struct ranking_key *key, const char *word)
{
	size_t length = strlen(word);
	*key = (struct ranking_key){ .whole = whole_find(word) };
	snprintf(key->word, sizeof key->word, "%s", word);
	key->is_per_s = !key->whole && length > 2 && strcmp(word + length - 2, "/s") == 0;
	snprintf(key->gauge, sizeof key->gauge, "%.*s", (int)(length - (key->is_per_s ? 2 : 0)), word);
	key->more_is_better = key->whole ? key->whole->more_is_better : !gauge_is_loss(key->gauge);
}

/* The gauges of all runs, else some words. */
static enum status refuse_key(
	const struct ranking *ranking, const struct summary *const *summaries, struct reason *why_not)
{
	char words[sizeof why_not->remedy] = "";
	size_t used = 0;
	for (size_t i = 0; i < ranking->count; i++) {
		for (size_t k = 0; k < summaries[i]->gauge_count && used + SUMMARY_NAME + 24 < sizeof words; k++) {
			const char *name = summaries[i]->gauges[k].name;
			bool is_listed = whole_has_gauge(name);
			for (size_t before = 0; before < i; before++)
				is_listed |= isfinite(summary_gauge(summaries[before], name));
			if (!is_listed)
				used += (size_t)snprintf(
					words + used, sizeof words - used, "%s%s", used ? ", " : "their gauges are ", name);
		}
	}
	return reason_set(why_not, STATUS_INVALID,
		used ? words : "such as samples/s, step, memory, gpu, energy, or a gauge; pmtop-check(1) lists them",
		"--by: no run has a figure \"%.60s\"", ranking->key.word);
}

/* -- names -- */

static void name_by_batch_size(const struct summary *of, char *out, size_t size)
{
	out[0] = '\0';
	if (isfinite(of->batch_size))
		snprintf(out, size, "batch size %.0f", of->batch_size);
}

static void name_by_model(const struct summary *of, char *out, size_t size)
{
	const char *model = summary_meta(of, "model");
	snprintf(out, size, "%s", model ? model : "");
}

static void name_by_run(const struct summary *of, char *out, size_t size) { snprintf(out, size, "%s", of->run); }

static void name_by_label(const struct summary *of, char *out, size_t size)
{
	snprintf(out, size, "%s", summary_name(of));
}

/* Uses the first kind of name that is different for all runs; else the labels (paths). */
static void name_all(struct ranking *ranking)
{
	static void (*const ways[])(
		const struct summary *, char *, size_t) = { name_by_batch_size, name_by_model, name_by_run, name_by_label };
	for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
		bool is_own = true;
		for (size_t i = 0; i < ranking->count; i++) {
			ways[way](ranking->rows[i].of, ranking->name[i], sizeof ranking->name[i]);
			is_own &= ranking->name[i][0] != '\0';
			for (size_t k = 0; k < i; k++)
				is_own &= strcmp(ranking->name[i], ranking->name[k]) != 0;
		}
		if (is_own)
			return;
	}
	for (size_t i = 0; i < ranking->count; i++)
		snprintf(ranking->name[i], sizeof ranking->name[i], "%s", ranking->rows[i].of->label);
}

/* -- order -- */

/* Of values that are the better the larger; unknown ones come last. */
static int by_value(const void *a, const void *b)
{
	double x = ((const struct ranking_row *)a)->value, y = ((const struct ranking_row *)b)->value;
	return (isnan(x) - isnan(y)) ? isnan(x) - isnan(y) : (x < y) - (x > y);
}

static int by_falling_value(const void *a, const void *b)
{
	double x = ((const struct ranking_row *)a)->value, y = ((const struct ranking_row *)b)->value;
	return (isnan(x) - isnan(y)) ? isnan(x) - isnan(y) : (x > y) - (x < y);
}

enum status ranking_make(struct ranking *ranking, const struct summary *const *summaries, size_t count, const char *by,
	struct reason *why_not)
{
	bool is_known = !by;
	*ranking = (struct ranking){ .count = count < RANKING_MAX ? count : RANKING_MAX };
	set_key(&ranking->key, by ? by : default_word(summaries, ranking->count));
	for (size_t i = 0; i < ranking->count; i++) {
		double value = value_of(&ranking->key, summaries[i]);
		is_known |= isfinite(value);
		ranking->rows[i] = (struct ranking_row){
			.of = summaries[i], .value = isfinite(value) ? value : NAN, .against_best = { NAN, NAN, NAN }
		};
	}
	if (!is_known)
		return refuse_key(ranking, summaries, why_not);
	qsort(ranking->rows, ranking->count, sizeof *ranking->rows,
		ranking->key.more_is_better ? by_value : by_falling_value);
	for (size_t i = 0; i < ranking->count; i++) {
		struct ranking_row *row = &ranking->rows[i];
		row->against_best.value = row->value / ranking->rows[0].value;
		row->has_interval =
			i > 0 && is_rate(&ranking->key) && compare_rates(ranking->rows[0].of, row->of, &row->against_best);
		if (row->has_interval)
			row->verdict =
				verdict_of_ratio(row->against_best.value, row->against_best.low, row->against_best.high, true);
	}
	name_all(ranking);
	return STATUS_OK;
}

/* -- output -- */

static const char *value_text(char out[PAGE_VALUE], const struct ranking_key *key, double value)
{
	char number[NUMBER_SIZE];
	if (is_rate(key))
		snprintf(out, PAGE_VALUE, "%s", format_rate(number, value));
	else
		page_value(out, key->whole ? key->whole->unit : ROW_NUMBER, value);
	return out;
}

/* "1.30 times bs32", of values that are the better the smaller "bs32 has 1.30 times as much". */
static void add_second(const struct ranking *ranking, char *out, size_t size)
{
	const struct ranking_row *next = ranking->count > 1 ? &ranking->rows[1] : NULL;
	if (!next || !isfinite(next->against_best.value))
		return;
	const struct interval *ratio = &next->against_best;
	if (!next->has_interval && is_rate(&ranking->key))
		return;
	if (!next->has_interval)
		snprintf(out, size, "; %s has %.2f times that", ranking->name[1], ratio->value);
	else if (next->verdict == VERDICT_SLOWER)
		snprintf(out, size, ", %.2f times %s (95 %%: %.2f to %.2f)", 1 / ratio->value, ranking->name[1],
			1 / ratio->high, 1 / ratio->low);
	else
		snprintf(out, size, "; %s is the same within noise (%.2f times, 95 %%: %.2f to %.2f)", ranking->name[1],
			ratio->value, ratio->low, ratio->high);
}

void ranking_sentence(const struct ranking *ranking, char *out, size_t size)
{
	const struct ranking_key *key = &ranking->key;
	char value[PAGE_VALUE];
	if (!ranking->count || !isfinite(ranking->rows[0].value)) {
		snprintf(out, size, is_rate(key) ? "no run has finished a step" : "no run has steps or operations");
		return;
	}
	value_text(value, key, ranking->rows[0].value);
	/* "812 samples/s", "accuracy/s 0.00151" */
	size_t used = (size_t)(is_rate(key) ? snprintf(out, size, "best: %s (%s %s)", ranking->name[0], value, key->word)
										: snprintf(out, size, "best: %s (%s %s)", ranking->name[0], key->word, value));
	if (used < size)
		add_second(ranking, out + used, size - used);
}

enum { LABEL_MIN = 18, LABEL_MAX = 48 };

static void write_cells(struct buffer *out, int label_cells, const char *label, const char *const cells[6],
	enum verdict verdict, bool has_color)
{
	static const int widths[] = { 7, 10, 11, 10, 11, 2 };
	page_left(out, label_cells, label);
	for (unsigned i = 0; i < 5; i++) {
		if (!cells[i])
			continue;
		/* A word of the user may be wide. */
		int cells_wide = (int)text_cells(cells[i]);
		page_right(out, cells_wide < widths[i] ? widths[i] : cells_wide + 1, cells[i]);
	}
	if (verdict != VERDICT_NONE || cells[5]) {
		buffer_puts(out, "  ");
		if (cells[5])
			buffer_puts(out, cells[5]);
		else
			page_verdict(out, verdict, has_color);
	}
	buffer_puts(out, "\n");
}

/* Columns that no run fills are left out. */
struct ranking_parts {
	bool has_size, has_step, has_peak;
};

static struct ranking_parts find_parts(const struct ranking *ranking)
{
	struct ranking_parts parts = { 0 };
	for (size_t i = 0; i < ranking->count; i++) {
		const struct summary *of = ranking->rows[i].of;
		parts.has_size |= isfinite(of->batch_size);
		parts.has_step |= isfinite(of->median_s);
		parts.has_peak |= isfinite(of->peak_bytes);
	}
	return parts;
}

void ranking_as_text(struct buffer *out, const struct ranking *ranking, int width, bool has_color)
{
	int label_cells = width - 60 < LABEL_MIN ? LABEL_MIN : width - 60 > LABEL_MAX ? LABEL_MAX : width - 60;
	const struct ranking_key *key = &ranking->key;
	struct ranking_parts parts = find_parts(ranking);
	const char *const heads[6] = { parts.has_size ? "batch" : NULL, parts.has_step ? "step" : NULL, key->word,
		"of best", parts.has_peak ? "peak mem." : NULL };
	char sentence[700], size[16], step[PAGE_VALUE], value[PAGE_VALUE], share[16], peak[NUMBER_SIZE], label[400];
	write_cells(out, label_cells, "", heads, VERDICT_NONE, has_color);
	for (size_t i = 0; i < ranking->count; i++) {
		const struct ranking_row *row = &ranking->rows[i];
		const struct summary *of = row->of;
		snprintf(size, sizeof size, isfinite(of->batch_size) ? "%.0f" : "–", of->batch_size);
		snprintf(share, sizeof share, isfinite(row->against_best.value) ? "%.2f×" : "–", row->against_best.value);
		ranking_label(ranking, i, label, sizeof label);
		const char *const cells[6] = { heads[0] ? size : NULL,
			heads[1] ? page_value(step, ROW_SECONDS, of->median_s) : NULL, value_text(value, key, row->value), share,
			heads[4] ? format_bytes(peak, of->peak_bytes) : NULL, i == 0 && isfinite(row->value) ? "best" : NULL };
		write_cells(out, label_cells, label, cells, row->verdict, has_color);
	}
	ranking_columns(out, ranking, width, label_cells);
	ranking_sentence(ranking, sentence, sizeof sentence);
	buffer_puts(out, "\n");
	page_wrap(out, width, 0, sentence);
}

void ranking_as_json(struct buffer *out, const struct ranking *ranking)
{
	struct json json = { .out = out };
	char sentence[700];
	ranking_sentence(ranking, sentence, sizeof sentence);
	json_open_object(&json, NULL);
	json_text(&json, "sentence", sentence);
	const struct ranking_key *key = &ranking->key;
	json_text(&json, "by",
		strcmp(key->word, "samples/s") == 0     ? "samples_per_s"
			: strcmp(key->word, "steps/s") == 0 ? "steps_per_s"
												: key->word);
	json_open_array(&json, "runs");
	for (size_t i = 0; i < ranking->count; i++) {
		const struct ranking_row *row = &ranking->rows[i];
		json_open_object(&json, NULL);
		json_text(&json, "name", ranking->name[i]);
		summary_as_json(&json, row->of);
		json_number(&json, "by_value", row->value);
		json_number(&json, "of_best_ratio", row->against_best.value);
		json_number(&json, "of_best_low", row->has_interval ? row->against_best.low : NAN);
		json_number(&json, "of_best_high", row->has_interval ? row->against_best.high : NAN);
		json_text(&json, "verdict", row->verdict == VERDICT_NONE ? NULL : verdict_word(row->verdict));
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	buffer_puts(out, "\n");
}
