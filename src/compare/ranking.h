/* ranking.h: ranks several runs in a table, the one with the most samples a second first. */
#ifndef PMTOP_COMPARE_RANKING_H
#define PMTOP_COMPARE_RANKING_H

#include <stddef.h>

#include "src/base/buffer.h"
#include "src/compare/comparison.h"

enum { RANKING_MAX = 64 };

struct ranking_row {
	const struct summary *of;
	bool has_interval;
	struct interval against_best; /* its rate ÷ that of the best */
	enum verdict verdict;         /* compared with the best; NONE for the best itself */
};

struct ranking {
	bool is_by_samples; /* false: by steps a second, because the samples of a run are unknown */
	size_t count;
	struct ranking_row rows[RANKING_MAX]; /* best first; those without a rate last */
	char name[RANKING_MAX][256];          /* different for each: "batch size 64", a model, a run, a file */
};

void ranking_make(struct ranking *ranking, const struct summary *const *summaries, size_t count);
/* "best: batch size 64 (812 samples/s)", and the comparison with the second. */
void ranking_sentence(const struct ranking *ranking, char *out, size_t size);
void ranking_as_text(struct buffer *out, const struct ranking *ranking, int width, bool has_color);
void ranking_as_json(struct buffer *out, const struct ranking *ranking);

#endif
