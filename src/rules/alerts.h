/* alerts.h: the warnings. Conditions on the model's figures, with hysteresis; each with its evidence, its meaning and
 * what to try.
 *
 * Evaluated on the main thread after sets were applied. Deterministic: a function of the model, the settings and what
 * was raised before.
 *
 * What is judged, and against which level, stands in rules (rule_book.h). Of a run its last 200 finished steps of its
 * main mode are judged, the warm-up left out, once there are as many as the rule asks for. A warning is raised when its
 * rule's condition holds and its figure has been beyond its level (not on it) for as long as the rule says, and cleared
 * when the figure has stayed calm (by default below nine tenths of the level) for 10 s of the model's time, or the
 * condition has not held for so long; so a figure that wavers about its level raises one warning, once. What is unknown
 * changes nothing. Of the ranks of one run two are judged: the one that is shown first, and the slowest. A rule that
 * stands keeps those that it quiets from the same operation. */
#ifndef PMTOP_RULES_ALERTS_H
#define PMTOP_RULES_ALERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/explain/patterns/patterns.h"
#include "src/model/model.h"
#include "src/settings/settings.h"

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL }; /* "info", "warning", "critical" */
const char *severity_name(enum severity severity);

enum { ALERT_EVIDENCE_MAX = 6, ALERT_ADVICE_MAX = 4, ALERTS_MAX = 64 };

struct alert_evidence {
	const char *key;
	double value;
}; /* "share_ratio" 0.34: base units, the unit in the key */

struct alert {
	const char *rule; /* its name: "data_loading"; "rule_file" or "hook" for what went wrong with these */
	unsigned run;     /* index into model->runs; 0 where it is of the whole model */
	uint32_t subject; /* name id of the operation; NAME_NONE */
	enum severity severity;
	bool is_raised;               /* false: cleared, kept for its history */
	int64_t since_ns, cleared_ns; /* cleared 0 while it stands */
	double value, level;          /* the figure that it is about, now, and the level that it is held against */
	enum figure_unit unit;        /* of both */
	struct series *history;       /* the figure since the rule first knew it; NULL: not kept. The alerts' own */
	char guide[64];               /* which guide names the level, and where; empty: none does */
	int64_t calm_since_ns;        /* since when its figure has been low enough to clear it; 0 = it is not */
	char message[160];            /* with the evidence filled in, one line of at most 110 characters */
	char meaning[240];
	size_t evidence_count, advice_count;
	struct alert_evidence evidence[ALERT_EVIDENCE_MAX];
	char advice[ALERT_ADVICE_MAX][120]; /* most useful first */
};

struct alerts {
	size_t count;
	struct alert list[ALERTS_MAX]; /* raised first, most severe first, then newest */
	size_t pattern_room;
	struct patterns *patterns;      /* by run; NULL until the first update; the alerts' own */
	struct alerts_private *private; /* NULL until the first update */
};

void alerts_release(struct alerts *alerts);
/* Of a run; NULL: nothing was looked for yet. */
const struct patterns *alerts_patterns(const struct alerts *alerts, unsigned run);

/* By the rules of the settings, which must live as long as the alerts; where these have none, by the built-in ones. */
void alerts_update(struct alerts *alerts, const struct model *model, const struct settings *settings);
/* Something else to be told, once: what a rule file or a hook has wrong. `name` is static. It stands until the end. */
void alerts_note(
	struct alerts *alerts, int64_t now_ns, const char *name, enum severity severity, const struct reason *reason);
size_t alerts_raised(const struct alerts *alerts);

#endif
