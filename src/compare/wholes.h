/* wholes.h: the figures of a run that are one value each: budgets, comparisons and rankings share this table. */
#ifndef PMTOP_COMPARE_WHOLES_H
#define PMTOP_COMPARE_WHOLES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/compare/comparison.h"

struct whole_figure {
	const char *word; /* of --budget and --by */
	const char *what; /* in tables */
	const char *head; /* of a column; NULL: no column of its own */
	enum row_group group;
	enum row_unit unit;
	bool more_is_better;
	size_t offset; /* of a double in struct summary */
};

extern const struct whole_figure whole_figures[];
extern const size_t whole_figure_count;

double whole_value(const struct summary *summary, const struct whole_figure *figure);
const struct whole_figure *whole_find(const char *word); /* NULL: none */
/* Whether a gauge repeats a figure of the table: those of the GPU's allocator. */
bool whole_has_gauge(const char *name);
/* Whether a smaller value of this gauge is better, by its name: "val_loss", "perplexity". */
bool gauge_is_loss(const char *name);

#endif
