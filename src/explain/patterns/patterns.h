/* patterns.h: what slow batches have in common: every k-th of them, every t seconds, slower since one of them, two
 * kinds of them.
 *
 * Found in the kept steps of a run's main mode, the warm-up left out; gradient accumulation is known and is no
 * pattern. */
#ifndef PMTOP_EXPLAIN_PATTERNS_PATTERNS_H
#define PMTOP_EXPLAIN_PATTERNS_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/model.h"
#include "src/settings/settings.h"

enum { PATTERNS_MAX = 4, PATTERN_WORDS_SIZE = 240 };

enum pattern_kind { PATTERN_PERIOD, PATTERN_DRIFT, PATTERN_KINDS }; /* "period", "drift", "kinds" */
enum pattern_unit { PATTERN_BATCHES, PATTERN_SECONDS };             /* "batches", "seconds" */

struct pattern {
	enum pattern_kind kind;
	enum pattern_unit unit;
	double period;        /* of a period: every so many batches or seconds; else NAN */
	uint64_t count, of;   /* slow ones that keep to it, and how many it would have: 12 of 12 */
	uint64_t first, last; /* ordinals: of a period the first and the newest; of a drift the first slower one */
	/* medians: of a period of the others and of these; of a drift before and after; of kinds the two */
	double before_s, after_s;
	uint32_t phase;      /* where the excess lies; NAME_NONE = in no one phase */
	bool is_epoch_first; /* of a period: it is each epoch's first batch */
	bool is_by_index;    /* of a period: counted anew in each epoch, by the published index */
	bool is_creeping;    /* of a drift: slower and slower, not all at once */
	/* "data", "data › decode": the common cause, as explain_batch names it; or "unknown" */
	char what[80];
	char candidate[96]; /* what matches it: "prefetch_factor 10 × 4 workers", "epoch length 150"; empty */
	int64_t since_ns;
};

struct patterns {
	int64_t renewed_ns; /* 0 = never */
	uint64_t seen;      /* steps that there were then */
	unsigned looks;     /* how often was looked: what is dear is looked for in turn */
	size_t count;
	struct pattern list[PATTERNS_MAX]; /* those that matter most first */
};

const char *pattern_kind_name(enum pattern_kind kind);
const char *pattern_unit_name(enum pattern_unit unit);
/* Looks again, at most once a second (of thousands of steps every few seconds) and only where steps have come. */
void patterns_update(struct patterns *patterns, const struct model *model, const struct run *run);
/* "every 40th batch is 2.3× slower, in data (12 of 12)": one line. */
const char *pattern_words(const struct pattern *pattern, const struct run *run, char *out, size_t size);
/* "every 40th batch (12 of 12, from 7/144)": what stands beside a candidate. */
const char *pattern_label(const struct pattern *pattern, const struct run *run, char *out, size_t size);

#endif
