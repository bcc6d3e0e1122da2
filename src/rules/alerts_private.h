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

/* The list: raised first, most severe first, then newest. */
void alerts_sort(struct alerts *alerts);
/* NULL = none */
struct alert *alerts_find(struct alerts *alerts, const char *rule, unsigned run, uint32_t subject);
/* A free entry. If the list is full, it replaces the last alert in list order, if that is cleared or less severe; else
 * NULL. */
struct alert *alerts_claim(struct alerts *alerts, enum severity severity);
void alert_clear(struct alert *alert, int64_t now_ns);
/* Fills in message, meaning, evidence and advice of a raised warning. */
void alert_report(
	struct alert *alert, const struct rule_book *book, const struct rule *rule, const struct context *context);

/* NULL if it has never been near its level, or there is no room. */
struct watch *watch_find(struct alerts_private *priv, const struct rule *rule, unsigned run, uint32_t subject);
/* Records the figure, and starts a watch if it is near its level. NULL as above. */
struct watch *watch_figure(struct alerts *alerts, const struct rule *rule, const struct context *context, double value);
void watches_release(struct alerts *alerts);

#endif
