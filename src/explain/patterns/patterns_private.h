/* patterns_private.h: the steps of a run in which the files of this folder search patterns, rebuilt for each search. */
#ifndef PMTOP_EXPLAIN_PATTERNS_PATTERNS_PRIVATE_H
#define PMTOP_EXPLAIN_PATTERNS_PATTERNS_PRIVATE_H

#include "src/explain/patterns/patterns.h"

enum { STEPS_MAX = 8192, EPOCHS_SEEN_MAX = 512, COMPARED_MAX = 32, OCCURRENCES_MIN = 4 };

/* How batches are counted: through the run, or from the start of each epoch. */
enum clock_kind { CLOCK_RUN, CLOCK_EPOCH, CLOCKS };

struct span_of_epoch {
	uint32_t first_position, last_position, first_index;
};

/* Finished steps of the main mode, oldest first, without the warm-up. A row is an index into the arrays; a position is
 * the batch's ordinal minus first_ordinal. */
struct steps {
	const struct model *model;
	const struct run *run;
	const struct track *track;
	/* results of the previous search: weaker evidence suffices to find them again */
	const struct patterns *before;
	size_t count, slow_count;
	uint64_t first_ordinal;
	uint32_t position_end; /* one beyond the newest position */
	size_t epoch_count;    /* epochs of these rows; 0 = the run has no usable epochs */
	/* CLOCK_EPOCH differs from CLOCK_RUN: the index restarts in each epoch */
	bool restarts;
	struct span_of_epoch epochs[EPOCHS_SEEN_MAX];
	const struct batch *batches[STEPS_MAX];
	double step_s[STEPS_MAX], base_s[STEPS_MAX]; /* base: median of neighbours of its kind */
	float scores[STEPS_MAX]; /* deviations above its base, clamped to ±3; normalized to mean 0, variance 1 */
	uint32_t position[STEPS_MAX];
	uint8_t kind[STEPS_MAX];
	bool is_slow[STEPS_MAX];    /* clearly slower than its base, and not explained by a period yet */
	bool is_member[STEPS_MAX];  /* of the current pattern */
	bool is_taken[STEPS_MAX];   /* explained */
	uint16_t row_at[STEPS_MAX]; /* by position: row + 1, 0 = none */
};

/* Rows of a pattern, or other rows to compare them with. */
struct compared {
	size_t count;
	size_t rows[COMPARED_MAX];
};

#endif
