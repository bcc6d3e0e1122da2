/* rule.h: one row of the table of warnings, and what its functions may look at. Private to src/rules. */
#ifndef PMTOP_RULES_RULE_H
#define PMTOP_RULES_RULE_H

#include <stddef.h>

#include "src/model/model.h"
#include "src/rules/alerts.h"
#include "src/settings/settings.h"

enum { LOOK_PHASES_MAX = RUN_PHASES_MAX * 2 };

/* What is judged, gathered once for each run and update. For a rule of the whole model, run and track are NULL and the rest is empty. */
struct look {
	const struct model *model;
	const struct settings *settings;
	unsigned index;                    /* of the run */
	const struct run *run;
	const struct track *track;
	/* of the last 200 finished steps without the warm-up */
	size_t steps, flagged;
	uint64_t oldest;                   /* ordinal of the first of them */
	double mean_s, median_s;
	double first_usual_s;              /* the median of the kind that the run's first step is of, the largest where that is gone */
	double fastest_s, slowest_s;       /* of the kind in which they lie farthest apart */
	uint32_t spread_kind;              /* that kind */
	size_t phase_count;                /* outermost ones */
	struct phase_row phases[LOOK_PHASES_MAX];
};

enum rule_scope { RULE_OF_MODEL, RULE_OF_RUN, RULE_OF_PHASE };

struct rule {
	const char *name;
	enum severity severity;
	enum rule_scope scope;
	size_t level;                      /* offset of its level (a double) in struct settings */
	size_t steps_least;                /* nothing is judged before so many */
	/* The figure that is held against the level; NAN = not known. `phase` is NULL but for RULE_OF_PHASE. */
	double (*measure)(const struct look *look, const struct phase_row *phase);
	/* Fills message, meaning, evidence and advice of a warning that stands. */
	void (*tell)(const struct look *look, const struct phase_row *phase, struct alert *alert);
};

/* For those who tell: one figure more, unless it is unknown; what it means. */
void add_evidence(struct alert *alert, const char *key, double value);
void explain_meaning(struct alert *alert, const char *text);

/* rank_words.c: of the model's ranks. */
/* Whether in this phase the run does no more than wait for a slower rank. */
bool rank_only_waits(const struct look *look, const struct phase_row *phase);
double measure_slowest_rank(const struct look *look, const struct phase_row *phase);
void tell_slowest_rank(const struct look *look, const struct phase_row *phase, struct alert *alert);
double measure_still_rank(const struct look *look, const struct phase_row *phase);
void tell_still_rank(const struct look *look, const struct phase_row *phase, struct alert *alert);

/* Of the rules of a phase the first in the table that is raised keeps the later ones quiet. */
enum { RULE_COUNT = 9 };
extern const struct rule rules[RULE_COUNT];

#endif
