/* alerts.h: the warnings. Conditions on the model's figures, with hysteresis; each with its evidence, its meaning and what to try.
 *
 * Evaluated on the main thread after sets were applied. Deterministic: a function of the model, the settings and what was raised before.
 *
 * Judged are a run's last 200 finished steps of its main mode, the warm-up left out, once 20 of them are known (5 for the slow first batch);
 * memory once its slope is known. A warning is raised when its figure is above its level (not on it), and cleared when the figure has stayed
 * below nine tenths of the level for 10 s of the model's time; so a figure that wavers about its level raises one warning, once. A figure
 * that is unknown changes nothing. Of the ranks of one run two are judged: the one that is shown first, and the slowest. Of one operation at
 * most one warning stands: data_loading, else bottleneck, else consider_optimizing. */
#ifndef PMTOP_RULES_ALERTS_H
#define PMTOP_RULES_ALERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/model.h"
#include "src/rules/patterns.h"
#include "src/settings/settings.h"

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL };   /* "info", "warning", "critical" */
const char *severity_name(enum severity severity);

enum { ALERT_EVIDENCE_MAX = 6, ALERT_ADVICE_MAX = 4, ALERTS_MAX = 64 };

struct alert_evidence { const char *key; double value; };   /* "share_ratio" 0.34: base units, the unit in the key */

struct alert {
	const char *rule;            /* "data_loading", "slow_first_batch", "flagged_batches", "variance", "bottleneck", "consider_optimizing", "memory_growth", "slowest_rank", "still_rank" */
	unsigned run;                /* index into model->runs; 0 for memory_growth, slowest_rank and still_rank, which are of all */
	uint32_t subject;            /* name id of the operation; NAME_NONE */
	enum severity severity;
	bool is_raised;              /* false: cleared, kept for its history */
	int64_t since_ns, cleared_ns;/* cleared 0 while it stands */
	double value, level;         /* the figure that it is about, now, and the level that it is held against */
	enum figure_unit unit;       /* of both */
	struct series *history;      /* the figure since the rule first knew it; NULL: not kept. The alerts' own */
	char guide[64];              /* which guide names the level, and where; empty: none does */
	int64_t calm_since_ns;       /* since when its figure has been low enough to clear it; 0 = it is not */
	char message[160];           /* with the evidence filled in, one line of at most 110 characters */
	char meaning[240];
	size_t evidence_count, advice_count;
	struct alert_evidence evidence[ALERT_EVIDENCE_MAX];
	char advice[ALERT_ADVICE_MAX][120];   /* most useful first */
};

struct alerts {
	size_t count;
	struct alert list[ALERTS_MAX];        /* raised first, most severe first, then newest */
	size_t pattern_room;
	struct patterns *patterns;            /* by run; NULL until the first update; the alerts' own */
};

void alerts_release(struct alerts *alerts);
/* Of a run; NULL: nothing was looked for yet. */
const struct patterns *alerts_patterns(const struct alerts *alerts, unsigned run);

void alerts_update(struct alerts *alerts, const struct model *model, const struct settings *settings);
size_t alerts_raised(const struct alerts *alerts);

#endif
