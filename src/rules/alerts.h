/* alerts.h: warnings: conditions on figures of the model, with hysteresis; each has evidence, a meaning and advice.
 *
 * Evaluated on the main thread after sets were applied. Deterministic: a function of the model, the settings and the
 * warnings raised before.
 *
 * Rules (rule_book.h) name the figures and their levels. Rules of a run evaluate the last 200 finished steps of its
 * main mode, without the warm-up, once the rule's minimum number of steps exists. A warning is raised when the rule's
 * condition holds and its figure has been beyond its level (not equal to it) for the rule's time. It is cleared when
 * the figure has been calm (by default below nine tenths of the level), or the condition false, for 10 s of the model's
 * time; so a figure that fluctuates about its level raises one warning. Unknown figures change nothing. Of the ranks of
 * one run, two are evaluated: the one shown first, and the slowest. A raised warning suppresses the rules that it
 * quiets for the same phase. */
#ifndef PMTOP_RULES_ALERTS_H
#define PMTOP_RULES_ALERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/explain/patterns/patterns.h"
#include "src/model/model.h"
#include "src/settings/settings.h"

/* What pmtop does when a rule raises its warning: the key `action`, "none", "profile", "snapshot". */
enum alert_action { ALERT_ACTS_NOT, ALERT_TAKES_TRACE, ALERT_TAKES_SNAPSHOT };

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL }; /* "info", "warning", "critical" */

enum { ALERT_EVIDENCE_MAX = 6, ALERT_ADVICE_MAX = 4, ALERTS_MAX = 64 };

struct alert_evidence {
	const char *key;
	double value;
}; /* "share_ratio" 0.34: base units, the unit in the key */

struct alert {
	const char *rule;         /* its name: "data_loading"; "rule_file" or "hook" for errors of those */
	unsigned run;             /* index into model->runs; 0 for rules of the whole model */
	uint32_t subject;         /* name id of the phase; NAME_NONE */
	enum alert_action action; /* of the run's program */
	bool is_of_model;         /* of the machine or of all runs, not of this run alone */
	enum severity severity;
	bool is_raised;               /* false: cleared, retained as history */
	int64_t since_ns, cleared_ns; /* cleared_ns 0 while raised */
	double value, level;          /* the figure now, and its level */
	enum figure_unit unit;        /* of both */
	struct series *history;       /* the figure since it came near its level; NULL = none. Owned by the alerts */
	char guide[64];               /* the guide that names the level, and its heading; empty = none */
	int64_t calm_since_ns;        /* since when the figure has been calm; 0 = it is not */
	char message[160];            /* with figures filled in, one line of at most 110 characters */
	char meaning[240];
	size_t evidence_count, advice_count;
	struct alert_evidence evidence[ALERT_EVIDENCE_MAX];
	char advice[ALERT_ADVICE_MAX][120]; /* most useful first */
};

struct alerts {
	size_t count;
	struct alert list[ALERTS_MAX]; /* raised first, most severe first, then newest */
	size_t pattern_room;
	struct patterns *patterns;   /* by run; NULL until the first update; owned by the alerts */
	struct alerts_private *priv; /* NULL until the first update */
};

void alerts_release(struct alerts *alerts);
/* Patterns of a run; NULL before the first search. */
const struct patterns *alerts_patterns(const struct alerts *alerts, unsigned run);

/* Evaluates the rules of the settings, which must outlive the alerts, or the built-in rules if there are none. */
void alerts_update(struct alerts *alerts, const struct model *model, const struct settings *settings);

struct rule;

/* Whether the figure is beyond its level; far enough back to clear the warning; near enough to record its history. */
bool rule_is_over(const struct rule *rule, double value);
bool rule_is_near(const struct rule *rule, double value);

#endif
