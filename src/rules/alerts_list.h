/* alerts_list.h: the list of alerts: raised, cleared, forgotten. */
#ifndef PMTOP_RULES_ALERTS_LIST_H
#define PMTOP_RULES_ALERTS_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "src/rules/alerts.h"

struct alerts_private;
struct context;
struct reason;
struct rule_book;
struct watch;

const char *severity_name(enum severity severity);

/* Adds a warning that is no rule's: an error in a rule file or a hook. `name` is static. It is never cleared. */
void alerts_note(
	struct alerts *alerts, int64_t now_ns, const char *name, enum severity severity, const struct reason *reason);
size_t alerts_raised(const struct alerts *alerts);

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
