#include "src/compare/ranking.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/compare/compare_json.h"
#include "src/compare/comparison_json.h"
#include "src/compare/page.h"

static double rate_of(const struct ranking *ranking, const struct summary *of)
{
	return ranking->is_by_samples ? of->samples_per_s : of->steps_per_s;
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

static int by_samples(const void *a, const void *b)
{
	double x = ((const struct ranking_row *)a)->of->samples_per_s,
		   y = ((const struct ranking_row *)b)->of->samples_per_s;
	return (x < y) - (x > y);
}

static int by_steps(const void *a, const void *b)
{
	double x = ((const struct ranking_row *)a)->of->steps_per_s, y = ((const struct ranking_row *)b)->of->steps_per_s;
	return (isnan(x) - isnan(y)) ? isnan(x) - isnan(y) : (x < y) - (x > y);
}

void ranking_make(struct ranking *ranking, const struct summary *const *summaries, size_t count)
{
	*ranking = (struct ranking){ .is_by_samples = true, .count = count < RANKING_MAX ? count : RANKING_MAX };
	for (size_t i = 0; i < ranking->count; i++) {
		ranking->rows[i] = (struct ranking_row){ .of = summaries[i], .against_best = { NAN, NAN, NAN } };
		/* A run without steps has no rate, neither of steps nor of samples. */
		ranking->is_by_samples &= isfinite(summaries[i]->samples_per_s) || !isfinite(summaries[i]->steps_per_s);
	}
	qsort(ranking->rows, ranking->count, sizeof *ranking->rows, by_steps);
	if (ranking->is_by_samples) {
		size_t known = 0;
		while (known < ranking->count && isfinite(ranking->rows[known].of->steps_per_s))
			known++;
		qsort(ranking->rows, known, sizeof *ranking->rows, by_samples);
	}
	for (size_t i = 0; i < ranking->count; i++) {
		struct ranking_row *row = &ranking->rows[i];
		double best = rate_of(ranking, ranking->rows[0].of), rate = rate_of(ranking, row->of);
		row->against_best.value = rate / best;
		row->has_interval = i > 0 && compare_rates(ranking->rows[0].of, row->of, &row->against_best);
		if (row->has_interval)
			row->verdict =
				verdict_of_ratio(row->against_best.value, row->against_best.low, row->against_best.high, true);
	}
	name_all(ranking);
}

/* -- output -- */

void ranking_sentence(const struct ranking *ranking, char *out, size_t size)
{
	const struct summary *best = ranking->count ? ranking->rows[0].of : NULL;
	char rate[NUMBER_SIZE];
	if (!best || !isfinite(rate_of(ranking, best))) {
		snprintf(out, size, "no run has finished a step");
		return;
	}
	size_t used = (size_t)snprintf(out, size, "best: %s (%s %s/s)", ranking->name[0],
		format_rate(rate, rate_of(ranking, best)), ranking->is_by_samples ? "samples" : "steps");
	const struct ranking_row *next = ranking->count > 1 ? &ranking->rows[1] : NULL;
	if (!next || used >= size || !next->has_interval)
		return;
	if (next->verdict == VERDICT_SLOWER)
		snprintf(out + used, size - used, ", %.2f times %s (95 %%: %.2f to %.2f)", 1 / next->against_best.value,
			ranking->name[1], 1 / next->against_best.high, 1 / next->against_best.low);
	else
		snprintf(out + used, size - used, "; %s is the same within noise (%.2f times, 95 %%: %.2f to %.2f)",
			ranking->name[1], next->against_best.value, next->against_best.low, next->against_best.high);
}

enum { LABEL_MIN = 18, LABEL_MAX = 48 };

static void write_cells(struct buffer *out, int label_cells, const char *label, const char *const cells[6],
	enum verdict verdict, bool has_color)
{
	static const int widths[] = { 7, 10, 11, 10, 11, 2 };
	page_left(out, label_cells, label);
	for (unsigned i = 0; i < 5; i++)
		page_right(out, widths[i], cells[i]);
	if (verdict != VERDICT_NONE || cells[5]) {
		buffer_puts(out, "  ");
		if (cells[5])
			buffer_puts(out, cells[5]);
		else
			page_verdict(out, verdict, has_color);
	}
	buffer_puts(out, "\n");
}

void ranking_as_text(struct buffer *out, const struct ranking *ranking, int width, bool has_color)
{
	int label_cells = width - 60 < LABEL_MIN ? LABEL_MIN : width - 60 > LABEL_MAX ? LABEL_MAX : width - 60;
	const char *const heads[6] = { "batch", "step", ranking->is_by_samples ? "samples/s" : "steps/s", "of best",
		"peak mem." };
	char sentence[700], size[16], step[PAGE_VALUE], rate[NUMBER_SIZE], share[16], peak[NUMBER_SIZE], label[400];
	write_cells(out, label_cells, "", heads, VERDICT_NONE, has_color);
	for (size_t i = 0; i < ranking->count; i++) {
		const struct ranking_row *row = &ranking->rows[i];
		const struct summary *of = row->of;
		snprintf(size, sizeof size, isfinite(of->batch_size) ? "%.0f" : "–", of->batch_size);
		snprintf(share, sizeof share, isfinite(row->against_best.value) ? "%.2f×" : "–", row->against_best.value);
		snprintf(label, sizeof label, "%s",
			strncmp(ranking->name[i], "batch size", 10) == 0 ? summary_name(of) : ranking->name[i]);
		const char *const cells[6] = { size, page_value(step, ROW_SECONDS, of->median_s),
			format_rate(rate, rate_of(ranking, of)), share, format_bytes(peak, of->peak_bytes),
			i == 0 && isfinite(rate_of(ranking, of)) ? "best" : NULL };
		write_cells(out, label_cells, label, cells, row->verdict, has_color);
	}
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
	json_text(&json, "by", ranking->is_by_samples ? "samples_per_s" : "steps_per_s");
	json_open_array(&json, "runs");
	for (size_t i = 0; i < ranking->count; i++) {
		const struct ranking_row *row = &ranking->rows[i];
		json_open_object(&json, NULL);
		json_text(&json, "name", ranking->name[i]);
		summary_as_json(&json, row->of);
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
