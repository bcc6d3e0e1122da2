/* ranking.h: ranks several runs in a table, the best first: by samples a second, or by another figure. */
#ifndef PMTOP_COMPARE_RANKING_H
#define PMTOP_COMPARE_RANKING_H

#include <stddef.h>

#include "src/base/buffer.h"
#include "src/base/status.h"
#include "src/compare/comparison.h"

struct whole_figure;

enum { RANKING_MAX = 64 };

/* The figure by which runs are ranked: one of whole_figures, or the last value of a gauge. */
struct ranking_key {
	const struct whole_figure *whole; /* NULL: a gauge */
	char word[SUMMARY_NAME + 4];      /* "samples/s", "accuracy/s" */
	char gauge[SUMMARY_NAME];
	bool is_per_s; /* the gauge ÷ the training time */
	bool more_is_better;
};

struct ranking_row {
	const struct summary *of;
	double value; /* of the key */
	bool has_interval;
	struct interval against_best; /* its value ÷ that of the best */
	enum verdict verdict;         /* compared with the best; NONE for the best itself, and without an interval */
};

struct ranking {
	struct ranking_key key;
	size_t count;
	struct ranking_row rows[RANKING_MAX]; /* best first; those without a value last */
	char name[RANKING_MAX][256];          /* different for each: "batch size 64", a model, a run, a file */
};

/* `by`: a word of whole_figures, a gauge, or a gauge and "/s"; NULL: samples a second, else steps a second, else the
 * training time. STATUS_INVALID: no run has such a figure; why_not lists some. */
enum status ranking_make(struct ranking *ranking, const struct summary *const *summaries, size_t count, const char *by,
	struct reason *why_not);
/* "best: batch size 64 (812 samples/s)", and the comparison with the second. */
void ranking_sentence(const struct ranking *ranking, char *out, size_t size);
void ranking_as_text(struct buffer *out, const struct ranking *ranking, int width, bool has_color);
void ranking_as_json(struct buffer *out, const struct ranking *ranking);

#endif
