/* alerts_private.h: what alerts.c and alerts_list.c share. */
#ifndef PMTOP_RULES_ALERTS_PRIVATE_H
#define PMTOP_RULES_ALERTS_PRIVATE_H

#include "src/rules/rule.h"

enum { WATCHES_MAX = 96 };

/* A figure that came near its level: since when it has been beyond it, and its history. */
struct watch {
	const struct rule *rule;
	unsigned run;
	uint32_t subject;
	int64_t over_since_ns; /* 0 = it is not */
	int64_t near_ns;       /* when it was last near */
	struct series *history;
};

struct alerts_private {
	struct rule_book *own;        /* the built-in rules, where the settings have none */
	const struct rule_book *book; /* by which was last judged */
	size_t watch_count;
	struct watch watches[WATCHES_MAX];
	struct context context;
	struct rule_cache cache;
};

/* The list: raised first, most severe first, then newest. */
void alerts_sort(struct alerts *alerts);
/* NULL: none */
struct alert *alerts_find(struct alerts *alerts, const char *rule, unsigned run, uint32_t subject);
/* Room for one more: the last in the list's order makes way if it is cleared or matters less. NULL where nothing
 * does. */
struct alert *alerts_claim(struct alerts *alerts, enum severity severity);
void alert_clear(struct alert *alert, int64_t now_ns);
/* Fills message, meaning, evidence and advice of a warning that stands. */
void alert_report(
	struct alert *alert, const struct rule_book *book, const struct rule *rule, const struct context *context);

/* NULL: it has never been near, or there is no room. */
struct watch *watch_find(struct alerts_private *private, const struct rule *rule, unsigned run, uint32_t subject);
/* Notes the figure, and begins to watch where that is near its level. */
struct watch *watch_figure(struct alerts *alerts, const struct rule *rule, const struct context *context, double value);
void watches_release(struct alerts *alerts);

#endif
