/* rule_now.h: the current state of a rule: its figure, or what it lacks; for `pmtop rules`. */
#ifndef PMTOP_RULES_RULE_NOW_H
#define PMTOP_RULES_RULE_NOW_H

#include "src/rules/rule.h"

/* off: disabled. lacks: a figure is unknown. calm: its condition is false, or its figure is not beyond its level. held:
 * beyond its level, but not for long enough, or suppressed by another rule. raised: its warning is raised. */
enum rule_state { RULE_OFF, RULE_LACKS, RULE_CALM, RULE_HELD, RULE_RAISED };
const char *rule_state_name(enum rule_state state);

struct rule_now {
	enum rule_state state;
	double value;                   /* of the run and phase farthest beyond the level; NAN = unknown */
	char subject[FIGURE_TEXT_SIZE]; /* that phase; empty = none */
	/* "gpu.memory_ratio: no GPU of the run is known"; empty unless it lacks something */
	char lacks[FIGURE_TEXT_SIZE];
	int64_t since_ns; /* if raised */
};

/* After alerts_update() with the same model. */
void rule_now(const struct alerts *alerts, const struct model *model, const struct rule *rule, struct rule_now *out);
/* One figure now (of the first run, for figures of a run). False if unknown; `out` then says why. */
bool figure_now(
	const struct alerts *alerts, const struct model *model, const struct figure *row, char out[FIGURE_TEXT_SIZE]);

#endif
