#include "src/compare/comparison.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/compare/wholes.h"

/* same_memory: memory is sampled and fluctuates, so a smaller difference counts as none. */
static const double same_memory = 0.05, explains_min = 0.1, negligible_share = 0.01, printed_share = 0.0005;

const char *verdict_word(enum verdict verdict)
{
	static const char *const words[] = {
#define VERDICT_WORD(name, word) word,
		VERDICTS(VERDICT_WORD)
#undef VERDICT_WORD
	};
	return words[verdict];
}

enum verdict verdict_of_ratio(double ratio, double low, double high, bool more_is_better)
{
	if (!isfinite(ratio) || !isfinite(low) || !isfinite(high))
		return VERDICT_NONE;
	bool is_change = (low > 1 || high < 1) && fabs(log(ratio)) >= log(SAME_RATIO);
	if (is_change)
		return (ratio > 1) == more_is_better ? VERDICT_FASTER : VERDICT_SLOWER;
	return low >= 1 / UNCLEAR_RATIO && high <= UNCLEAR_RATIO ? VERDICT_SAME : VERDICT_UNCLEAR;
}

static void note(struct comparison *comparison, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct comparison *comparison, const char *format, ...)
{
	if (comparison->note_count == COMPARISON_NOTES_MAX)
		return;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(comparison->notes[comparison->note_count++], sizeof comparison->notes[0], format, arguments);
	va_end(arguments);
}

/* Returns the next row, or the last again if there is no more room. */
static struct comparison_row *add_row(
	struct comparison *comparison, enum row_group group, enum row_unit unit, const char *what, double a, double b)
{
	size_t index = comparison->row_count < COMPARISON_ROWS_MAX ? comparison->row_count++ : COMPARISON_ROWS_MAX - 1;
	struct comparison_row *row = &comparison->rows[index];
	*row = (struct comparison_row){ .group = group,
		.unit = unit,
		.a = a,
		.b = b,
		.change = a > 0 ? b / a : NAN,
		.low = NAN,
		.high = NAN,
		.effect = NAN };
	snprintf(row->what, sizeof row->what, "%s", what);
	return row;
}

static void set_interval(struct comparison_row *row, const struct interval *interval)
{
	row->change = interval->value;
	row->low = interval->low;
	row->high = interval->high;
	row->has_interval = true;
}

/* -- figures of one value -- */

/* Growth is noticed if it is a share of the peak; a smaller difference counts as none. */
static double noticed_difference(const struct comparison *comparison, const struct whole_figure *figure)
{
	double peak = fmax(comparison->a->peak_bytes, comparison->b->peak_bytes);
	return figure->offset == offsetof(struct summary, growth_bytes) ? negligible_share * peak : 0;
}

static void compare_whole(struct comparison *comparison, const struct whole_figure *figure)
{
	double a = whole_value(comparison->a, figure), b = whole_value(comparison->b, figure);
	struct interval ratio;
	if (!isfinite(a) && !isfinite(b))
		return;
	struct comparison_row *row = add_row(comparison, figure->group, figure->unit, figure->what, a, b);
	if (!isfinite(a) || !isfinite(b))
		return;
	if (figure->offset == offsetof(struct summary, request_p95_s)) {
		if (compare_requests(comparison->a, comparison->b, &ratio)) {
			set_interval(row, &ratio);
			row->verdict = verdict_of_ratio(row->change, row->low, row->high, false);
		}
		return;
	}
	bool is_same = fabs(b - a) <= fmax(same_memory * fabs(a), noticed_difference(comparison, figure));
	bool is_judged = figure->unit == ROW_BYTES || figure->unit == ROW_JOULES;
	if (is_judged || is_same)
		row->verdict = is_same ? VERDICT_SAME : b > a ? VERDICT_MORE : VERDICT_LESS;
}

/* -- steps -- */

bool compare_steps(const struct summary *a, const struct summary *b, struct contrast *out, bool *is_rough)
{
	*out = (struct contrast){ .effect = NAN };
	*is_rough = !summary_has_steps(a) || !summary_has_steps(b);
	if (!*is_rough)
		return contrast_ratio(a->steps, a->step_count, b->steps, b->step_count, out);
	struct known_quantiles of_a = { a->median_s, a->p95_s, (double)a->seen },
						   of_b = { b->median_s, b->p95_s, (double)b->seen };
	return contrast_known(&of_a, &of_b, &out->ratio);
}

bool compare_rates(const struct summary *a, const struct summary *b, struct interval *out)
{
	bool has_samples = isfinite(a->samples_per_s) && isfinite(b->samples_per_s);
	double ratio = has_samples ? b->samples_per_s / a->samples_per_s : b->steps_per_s / a->steps_per_s;
	struct interval steps;
	if (!isfinite(ratio) || !(ratio > 0) ||
		!contrast_mean_ratio(a->steps, a->step_count, b->steps, b->step_count, &steps))
		return false;
	/* The value is from the totals, the interval from the retained steps. */
	*out = (struct interval){ ratio, ratio * steps.value / steps.high, ratio * steps.value / steps.low };
	return true;
}

bool compare_operation(const struct summary_operation *a, const struct summary_operation *b, struct interval *out)
{
	struct known_quantiles of_a = { a->p50_s, a->p95_s, (double)a->count },
						   of_b = { b->p50_s, b->p95_s, (double)b->count };
	return contrast_known(&of_a, &of_b, out);
}

bool compare_requests(const struct summary *a, const struct summary *b, struct interval *out)
{
	struct known_quantiles of_a = { a->request_p50_s, a->request_p95_s, a->requests },
						   of_b = { b->request_p50_s, b->request_p95_s, b->requests };
	return contrast_known_p95(&of_a, &of_b, out);
}

static void compare_times(struct comparison *comparison)
{
	const struct summary *a = comparison->a, *b = comparison->b;
	struct contrast contrast;
	struct interval rates;
	if (!isfinite(a->median_s) && !isfinite(b->median_s)) {
		compare_whole(comparison, whole_find("train-time"));
		return;
	}
	struct comparison_row *row = add_row(comparison, ROW_STEP, ROW_SECONDS, "step, median", a->median_s, b->median_s);
	if (compare_steps(a, b, &contrast, &comparison->is_rough)) {
		set_interval(row, &contrast.ratio);
		row->effect = contrast.effect;
		row->verdict = verdict_of_ratio(row->change, row->low, row->high, false);
	}
	add_row(comparison, ROW_STEP, ROW_SECONDS, "step, p95", a->p95_s, b->p95_s);
	add_row(comparison, ROW_STEP, ROW_SECONDS, "step, mean", a->mean_s, b->mean_s);
	bool has_samples = isfinite(a->samples_per_s) || isfinite(b->samples_per_s);
	row = add_row(comparison, ROW_STEP, ROW_PER_SECOND, has_samples ? "samples a second" : "steps a second",
		has_samples ? a->samples_per_s : a->steps_per_s, has_samples ? b->samples_per_s : b->steps_per_s);
	if (isfinite(row->a) && isfinite(row->b) && compare_rates(a, b, &rates)) {
		set_interval(row, &rates);
		row->verdict = verdict_of_ratio(row->change, row->low, row->high, true);
	}
	comparison->is_by_samples = isfinite(a->batch_size) && isfinite(b->batch_size) &&
		fabs(a->batch_size - b->batch_size) > 0.5 && isfinite(row->change);
	comparison->judged = comparison->is_by_samples ? row
		: isfinite(comparison->rows[0].change)     ? &comparison->rows[0]
												   : NULL;
	if (isfinite(a->loss) || isfinite(b->loss))
		add_row(comparison, ROW_STEP, ROW_NUMBER, "loss at the end", a->loss, b->loss);
}

/* -- phases -- */

struct middle {
	double *values;
	size_t *indices, count;
};

static bool open_middle(struct middle *middle, const struct summary *summary)
{
	*middle = (struct middle){ .values = calloc(summary->step_count + 1, sizeof(double)),
		.indices = calloc(summary->step_count + 1, sizeof(size_t)) };
	if (middle->values && middle->indices && summary_has_steps(summary))
		middle->count = summary_middle(summary, middle->indices);
	return middle->count >= CONTRAST_MIN;
}

static void fill_middle(struct middle *middle, const struct summary_phase *phase)
{
	for (size_t i = 0; i < middle->count; i++)
		middle->values[i] = phase ? phase->seconds[middle->indices[i]] : 0;
}

static void close_middle(struct middle *middle)
{
	free(middle->values);
	free(middle->indices);
}

/* A run without the phase spends 0 s in it; of a saved report the time is unknown. */
static double phase_mean(const struct summary *summary, const struct summary_phase *phase)
{
	return phase ? phase->mean_s : summary_has_steps(summary) ? 0 : NAN;
}

static void compare_phase(
	struct comparison *comparison, const char *name, struct middle *of_a, struct middle *of_b, bool has_middles)
{
	const struct summary_phase *a = summary_phase(comparison->a, name), *b = summary_phase(comparison->b, name);
	double mean_a = phase_mean(comparison->a, a), mean_b = phase_mean(comparison->b, b),
		   whole = fmax(comparison->a->middle_s, comparison->b->middle_s);
	struct interval difference;
	if (mean_a < printed_share * whole && mean_b < printed_share * whole)
		return;
	struct comparison_row *row = add_row(comparison, ROW_PHASE, ROW_SECONDS, name, mean_a, mean_b);
	row->change = row->b - row->a;
	if (!has_middles)
		return;
	fill_middle(of_a, a);
	fill_middle(of_b, b);
	if (!contrast_means(of_a->values, of_a->count, of_b->values, of_b->count, &difference))
		return;
	set_interval(row, &difference);
	double noticed_s = negligible_share * comparison->a->middle_s;
	if ((row->low > 0 || row->high < 0) && fabs(row->change) >= noticed_s &&
		fabs(row->change) >= (SAME_RATIO - 1) * row->a)
		row->verdict = row->change > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
	else
		row->verdict = row->high - row->low <= 2 * fmax((UNCLEAR_RATIO - 1) * fmax(row->a, row->b), noticed_s)
			? VERDICT_SAME
			: VERDICT_UNCLEAR;
}

static int by_size(const void *a, const void *b)
{
	const struct comparison_row *x = a, *y = b;
	double of_x = fmax(x->a, x->b), of_y = fmax(y->a, y->b);
	return (of_x < of_y) - (of_x > of_y);
}

static void compare_phases(struct comparison *comparison)
{
	const struct summary *a = comparison->a, *b = comparison->b;
	struct middle of_a, of_b;
	bool has_middles = open_middle(&of_a, a);
	has_middles &= open_middle(&of_b, b);
	size_t from = comparison->row_count;
	for (unsigned i = 0; i < a->phase_count; i++)
		compare_phase(comparison, a->phases[i].name, &of_a, &of_b, has_middles);
	for (unsigned i = 0; i < b->phase_count; i++)
		if (!summary_phase(a, b->phases[i].name))
			compare_phase(comparison, b->phases[i].name, &of_a, &of_b, has_middles);
	qsort(comparison->rows + from, comparison->row_count - from, sizeof *comparison->rows, by_size);
	close_middle(&of_a);
	close_middle(&of_b);
	comparison->difference_s = b->middle_s - a->middle_s;
}

/* Finds the phases that explain a changed step. */
static void find_explanation(struct comparison *comparison)
{
	double whole = comparison->difference_s;
	if (!isfinite(whole) || fabs(whole) < (SAME_RATIO - 1) * comparison->a->middle_s)
		return;
	for (unsigned found = 0; found < 3; found++) {
		const struct comparison_row *max = NULL;
		for (size_t i = 0; i < comparison->row_count; i++) {
			const struct comparison_row *row = &comparison->rows[i];
			bool is_taken =
				(found > 0 && row == comparison->explains[0]) || (found > 1 && row == comparison->explains[1]);
			bool is_sure = !row->has_interval || row->low > 0 || row->high < 0;
			if (row->group == ROW_PHASE && !is_taken && is_sure && row->change / whole >= explains_min &&
				(!max || row->change / whole > max->change / whole))
				max = row;
		}
		comparison->explains[found] = max;
		if (!max)
			break;
	}
}

/* -- the rest -- */

static const struct summary_operation *operation_like(
	const struct summary *summary, const struct summary_operation *other)
{
	for (size_t i = 0; i < summary->operation_count; i++)
		if (strcmp(summary->operations[i].name, other->name) == 0 &&
			strcmp(summary->operations[i].parent, other->parent) == 0)
			return &summary->operations[i];
	return NULL;
}

/* Adds the operations that are no phases: those nested in phases, and those outside of steps. */
static void compare_operations(struct comparison *comparison)
{
	const struct summary *a = comparison->a, *b = comparison->b;
	for (size_t i = 0; i < a->operation_count + b->operation_count; i++) {
		bool is_of_b = i >= a->operation_count;
		const struct summary_operation *of = is_of_b ? &b->operations[i - a->operation_count] : &a->operations[i],
									   *other = operation_like(is_of_b ? a : b, of);
		if ((is_of_b && other) || (of->depth == 0 && (summary_phase(a, of->name) || summary_phase(b, of->name))))
			continue;
		double mean = of->mean_s, others = other ? other->mean_s : NAN;
		struct interval ratio;
		struct comparison_row *row =
			add_row(comparison, ROW_OPERATION, ROW_SECONDS, of->name, is_of_b ? others : mean, is_of_b ? mean : others);
		if (of->parent[0])
			snprintf(row->what, sizeof row->what, "%s › %s", of->parent, of->name);
		if (!is_of_b && other && compare_operation(of, other, &ratio)) {
			set_interval(row, &ratio);
			row->verdict = verdict_of_ratio(row->change, row->low, row->high, false);
		}
	}
}

static void compare_wholes(struct comparison *comparison)
{
	for (size_t i = 0; i < whole_figure_count; i++)
		if (whole_figures[i].group != ROW_STEP)
			compare_whole(comparison, &whole_figures[i]);
}

static void compare_gauges(struct comparison *comparison)
{
	const struct summary *of[] = { comparison->a, comparison->b };
	for (unsigned side = 0; side < 2; side++) {
		for (size_t i = 0; i < of[side]->gauge_count; i++) {
			const char *name = of[side]->gauges[i].name;
			bool is_listed = side && isfinite(summary_gauge(of[0], name));
			if (!is_listed && !whole_has_gauge(name))
				add_row(
					comparison, ROW_GAUGE, ROW_NUMBER, name, summary_gauge(of[0], name), summary_gauge(of[1], name));
		}
	}
}

/* Without steps the requests are judged, else the longest operation. */
static void choose_judged(struct comparison *comparison)
{
	double max = 0;
	for (size_t i = 0; i < comparison->row_count && !comparison->judged; i++)
		if (comparison->rows[i].group == ROW_REQUEST && comparison->rows[i].has_interval)
			comparison->judged = &comparison->rows[i];
	if (comparison->judged)
		return;
	for (size_t i = 0; i < comparison->row_count; i++) {
		const struct comparison_row *row = &comparison->rows[i];
		if (row->group != ROW_OPERATION || !isfinite(row->change) || fmax(row->a, row->b) <= max)
			continue;
		max = fmax(row->a, row->b);
		comparison->judged = row;
	}
}

static void compare_metas(struct comparison *comparison)
{
	/* These differ between any two runs. */
	static const char *const own[] = { "run_id", "RANK", "LOCAL_RANK", "pid" };
	const struct summary *of[] = { comparison->a, comparison->b };
	for (unsigned side = 0; side < 2; side++) {
		for (size_t i = 0; i < of[side]->meta_count; i++) {
			const char *key = of[side]->meta[i].key, *value = of[side]->meta[i].value,
					   *other = summary_meta(of[!side], key);
			bool is_own = false;
			for (size_t k = 0; k < sizeof own / sizeof *own; k++)
				is_own |= strcmp(key, own[k]) == 0;
			if (is_own || (other && (side || strcmp(value, other) == 0)) ||
				comparison->meta_count == SUMMARY_META_MAX || !of[!side]->meta_count)
				continue;
			size_t index = comparison->meta_count++;
			comparison->meta[index].key = key;
			comparison->meta[index].a = side ? NULL : value;
			comparison->meta[index].b = side ? value : other;
		}
	}
}

static void add_notes(struct comparison *comparison)
{
	const struct summary *of[] = { comparison->a, comparison->b };
	for (unsigned side = 0; side < 2; side++) {
		char letter = side ? 'B' : 'A';
		if (of[side]->origin == ORIGIN_REPORT)
			note(comparison,
				"%c is a saved report, which has quantiles but no steps: intervals are rough; pmtop check --save saves "
				"the steps",
				letter);
		else if (of[side]->step_count < CONTRAST_MIN && (of[side]->batches || !summary_has_content(of[side])))
			note(comparison, "%c has %zu steps after its warm-up: an interval needs %d", letter, of[side]->step_count,
				CONTRAST_MIN);
		if (of[side]->lost_events)
			note(comparison, "%c lost %llu events: its counts are complete, but some of its steps are missing", letter,
				(unsigned long long)of[side]->lost_events);
	}
	const struct summary *a = of[0], *b = of[1];
	if (a->host[0] && b->host[0] && strcmp(a->host, b->host) != 0)
		note(comparison, "the runs were on different machines: %.63s and %.63s", a->host, b->host);
	if (isfinite(a->cpus) && isfinite(b->cpus) && fabs(a->cpus - b->cpus) > 0.5)
		note(comparison, "the machines have %.0f and %.0f CPUs", a->cpus, b->cpus);
	if (comparison->is_by_samples)
		note(comparison, "the batch sizes are %.0f and %.0f: the verdict compares samples a second", a->batch_size,
			b->batch_size);
}

void compare(const struct summary *a, const struct summary *b, struct comparison *out)
{
	*out = (struct comparison){ .a = a, .b = b, .difference_s = NAN };
	compare_times(out);
	compare_phases(out);
	find_explanation(out);
	compare_operations(out);
	compare_wholes(out);
	compare_gauges(out);
	choose_judged(out);
	compare_metas(out);
	add_notes(out);
}
