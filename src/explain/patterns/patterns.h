/* patterns.h: patterns of slow batches: every k-th batch, every t seconds, slower since a batch, two kinds of batches.
 *
 * The search covers the retained steps of a run's main mode, without the warm-up. Published gradient accumulation is no
 * pattern. */
#ifndef PMTOP_EXPLAIN_PATTERNS_PATTERNS_H
#define PMTOP_EXPLAIN_PATTERNS_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/model.h"
#include "src/model/run/steps/explanation.h"
#include "src/settings/settings.h"

enum { PATTERNS_MAX = 4, PATTERN_WORDS_SIZE = 240 };

enum pattern_kind { PATTERN_PERIOD, PATTERN_DRIFT, PATTERN_KINDS }; /* "period", "drift", "kinds" */
enum pattern_unit { PATTERN_BATCHES, PATTERN_SECONDS };             /* "batches", "seconds" */

struct pattern {
	enum pattern_kind kind;
	enum pattern_unit unit;
	double period;        /* PATTERN_PERIOD: its length in batches or seconds; else NAN */
	uint64_t count, of;   /* slow batches that fit the period, and expected ones: 12 of 12 */
	uint64_t first, last; /* ordinals: first and newest member; of a drift, first: the first slower step */
	/* medians: PATTERN_PERIOD: of other batches, of members; PATTERN_DRIFT: before, after; PATTERN_KINDS: fast, slow */
	double before_s, after_s;
	uint32_t phase;      /* phase with most of the excess; NAME_NONE = none */
	bool is_epoch_first; /* of a period: the members are each epoch's first batch */
	bool is_by_index;    /* of a period: counted from the start of each epoch, by the published index */
	/* of a period by index: each epoch has one, with this index; the period is then the epoch's length */
	bool is_once;
	uint64_t once_index;
	bool is_planned;  /* of a period: only the members do a certain work of the program's own, such as an evaluation */
	bool is_creeping; /* of a drift: gradual, not a single change */
	/* "data", "data › decode", "`with lock:`, train.py:81": the common cause, as explain_batch names it; or "unknown"
	 */
	char what[80];
	bool has_line;              /* it names a line */
	char next[CAUSE_NEXT_SIZE]; /* the cause's advice; empty = none */
	char candidate[96];         /* likely reason: "prefetch_factor 10 × 4 workers", "epoch length 150"; empty = none */
	int64_t since_ns;
};

struct patterns {
	int64_t renewed_ns; /* 0 = never */
	uint64_t seen;      /* track->end at that time */
	unsigned searches;  /* number of searches: find_mild tries long periods in turn */
	size_t count;
	struct pattern list[PATTERNS_MAX]; /* the most expensive first */
};

const char *pattern_kind_name(enum pattern_kind kind);
const char *pattern_unit_name(enum pattern_unit unit);
/* Searches again, if there are new steps, at most once a second (every few seconds with thousands of steps). */
void patterns_update(struct patterns *patterns, const struct model *model, const struct run *run);
/* Whether there is a lead: a cause, a candidate, or a phase other than forward and backward, which every disturbance of
 * the machine makes slower. */
bool pattern_has_lead(const struct pattern *pattern, const struct run *run);
/* Whether a batch of the main mode is at a place where a planned period, or one of first batches of epochs, expects a
 * slow one. */
bool patterns_plan(const struct patterns *patterns, const struct run *run, const struct batch *batch);
/* "every 40th batch takes 2.3× as long, in data (12 of 12)": one line. */
const char *pattern_words(const struct pattern *pattern, const struct run *run, char *out, size_t size);
/* "every 40th batch (12 of 12, from 7/144)": short form, for use with the candidate. */
const char *pattern_label(const struct pattern *pattern, const struct run *run, char *out, size_t size);

#endif
