/* alerts_private.h: shared by alerts.c and alerts_list.c. */
#ifndef PMTOP_RULES_ALERTS_PRIVATE_H
#define PMTOP_RULES_ALERTS_PRIVATE_H

#include "src/rules/rule.h"

enum { WATCHES_MAX = 96 };

/* A figure that came near its level: since when it is beyond the level, and its history. */
struct watch {
	const struct rule *rule;
	unsigned run;
	uint32_t subject;
	int64_t over_since_ns; /* 0 = it is not */
	int64_t near_ns;       /* last time near the level */
	struct series *history;
};

struct alerts_private {
	struct rule_book *own;        /* the built-in rules, if the settings have none */
	const struct rule_book *book; /* of the last update */
	size_t watch_count;
	struct watch watches[WATCHES_MAX];
	struct context context;
	struct rule_cache cache;
};

#endif
