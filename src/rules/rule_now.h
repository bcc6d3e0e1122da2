/* rule_now.h: how a rule stands now: its figure, or what it lacks; for `pmtop rules`. */
#ifndef PMTOP_RULES_RULE_NOW_H
#define PMTOP_RULES_RULE_NOW_H

#include "src/rules/rule.h"

/* off: not judged. lacks: something is unknown. calm: its condition does not hold, or its figure is not beyond its
 * level. held: it is, and has to stay so for longer, or another rule keeps this one quiet. raised: it stands. */
enum rule_state { RULE_OFF, RULE_LACKS, RULE_CALM, RULE_HELD, RULE_RAISED };
const char *rule_state_name(enum rule_state state);

struct rule_now {
	enum rule_state state;
	double value;                   /* of the run and phase where it is most beyond its level; NAN = not known */
	char subject[FIGURE_TEXT_SIZE]; /* that phase; empty = none */
	/* "gpu.memory_ratio: no GPU of the run is known"; empty unless it lacks something */
	char lacks[FIGURE_TEXT_SIZE];
	int64_t since_ns; /* where it stands */
};

/* After alerts_update() with the same model. */
void rule_now(const struct alerts *alerts, const struct model *model, const struct rule *rule, struct rule_now *out);
/* One figure now, of the first run where it is of a run; false: it is unknown, and `out` says why. */
bool figure_now(
	const struct alerts *alerts, const struct model *model, const struct figure *row, char out[FIGURE_TEXT_SIZE]);

#endif
