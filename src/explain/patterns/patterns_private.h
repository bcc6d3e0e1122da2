/* patterns_private.h: the steps that patterns are looked for in, shared by the files that look. Made anew for each
 * look. */
#ifndef PMTOP_EXPLAIN_PATTERNS_PATTERNS_PRIVATE_H
#define PMTOP_EXPLAIN_PATTERNS_PATTERNS_PRIVATE_H

#include "src/explain/patterns/patterns.h"

enum { STEPS_MAX = 8192, EPOCHS_SEEN_MAX = 512, COMPARED_MAX = 32, OCCURRENCES_MIN = 4 };

/* By what batches are counted: through the run, or anew in each epoch. */
enum clock_kind { CLOCK_RUN, CLOCK_EPOCH, CLOCKS };

struct span_of_epoch {
	uint32_t first_place, last_place, first_index;
};

/* Finished steps of the main mode, oldest first, the warm-up left out. A row is an index into these; a place is an
 * ordinal less that of the first. */
struct steps {
	const struct model *model;
	const struct run *run;
	const struct track *track;
	/* what was found the last time: it is kept a little longer than it takes to be found */
	const struct patterns *before;
	size_t count, slow_count;
	uint64_t first_ordinal;
	uint32_t places;    /* one beyond the newest */
	size_t epoch_count; /* those that the rows are in; 0 = not counted by epochs */
	/* its epochs are not all of one length, or the count begins anew elsewhere: both clocks differ */
	bool restarts;
	struct span_of_epoch epochs[EPOCHS_SEEN_MAX];
	const struct batch *batches[STEPS_MAX];
	double step_s[STEPS_MAX], base_s[STEPS_MAX]; /* base: of those of its kind around it */
	float scores[STEPS_MAX]; /* how far above its base, in deviations, cut off at ±3; mean 0, variance 1 */
	uint32_t place[STEPS_MAX];
	uint8_t kind[STEPS_MAX];
	bool is_slow[STEPS_MAX];    /* noticeably, and not explained by a period that was found already */
	bool is_member[STEPS_MAX];  /* of the pattern that is being made */
	bool is_taken[STEPS_MAX];   /* explained */
	uint16_t row_at[STEPS_MAX]; /* by place; the row + 1, 0 = none */
};

/* Rows of a pattern and others to hold them against. */
struct compared {
	size_t count;
	size_t rows[COMPARED_MAX];
};

/* -- patterns_steps.c -- */
/* False: there are too few. */
bool steps_gather(struct steps *steps, const struct model *model, const struct run *run, const struct patterns *before);
/* Marks the members as explained, and rates what is left. */
void steps_take_members(struct steps *steps);
/* The median of the nearest steps of its kind that are no members; NAN. */
double steps_near(const struct steps *steps, size_t row);
/* Where the row stands in a period. */
uint32_t steps_remainder(const struct steps *steps, enum clock_kind clock, uint32_t period, size_t row);
/* Every 80th, because some of every 40th are not slow: where those that a part of the period adds are as slow, that
 * part; else the period. Nobody is a member before and after. */
uint32_t steps_part(struct steps *steps, enum clock_kind clock, uint32_t period, uint32_t remainder, uint32_t from);
/* Whether a period of so many batches was found the last time. */
bool steps_knew(const struct steps *steps, uint32_t period);
size_t steps_row(const struct steps *steps, uint64_t ordinal); /* count: not there */

/* -- patterns_periods.c: every k-th batch. Each fills the pattern and marks its members; false: there is none (left)
 * -- */
bool find_epoch_first(struct steps *steps, struct pattern *out);
bool find_comb(struct steps *steps, struct pattern *out);
/* -- patterns_mild.c: every k-th batch a little slower, too little for each to stand out -- */
bool find_mild(struct steps *steps, struct pattern *out);
/* -- patterns_times.c: every t seconds, and about every so many batches -- */
bool find_beat(struct steps *steps, struct pattern *out);
/* -- patterns_drift.c -- */
bool find_drift(struct steps *steps, struct pattern *out);
/* -- patterns_kinds.c -- */
bool find_kinds(struct steps *steps, struct pattern *out);

/* -- patterns_cause.c: phase, what, candidate -- */
void describe_period(const struct steps *steps, struct pattern *pattern);
void describe_drift(
	const struct steps *steps, const struct compared *before, const struct compared *after, struct pattern *pattern);
void describe_kinds(
	const struct steps *steps, const struct compared *fast, const struct compared *slow, struct pattern *pattern);

#endif
