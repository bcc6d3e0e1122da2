#include "src/rules/alerts_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/rules/alerts.h"
#include "src/rules/alerts_private.h"
#include "src/rules/rule_book.h"
#include "src/rules/rule_text.h"

const char *severity_name(enum severity severity)
{
	static const char *const names[] = {
		[SEVERITY_INFO] = "info", [SEVERITY_WARNING] = "warning", [SEVERITY_CRITICAL] = "critical"
	};
	return names[severity];
}

/* -- the list -- */

static int compare(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int compare_alerts(const void *left, const void *right)
{
	const struct alert *a = left, *b = right;
	const int64_t order[][2] = {
		{ b->is_raised, a->is_raised },
		{ b->severity, a->severity },
		{ b->since_ns, a->since_ns },
		{ a->run, b->run },
		{ a->subject, b->subject },
	};
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		int way = compare(order[i][0], order[i][1]);
		if (way)
			return way;
	}
	return strcmp(a->rule, b->rule);
}

void alerts_sort(struct alerts *alerts) { qsort(alerts->list, alerts->count, sizeof alerts->list[0], compare_alerts); }

struct alert *alerts_find(struct alerts *alerts, const char *rule, unsigned run, uint32_t subject)
{
	for (size_t i = 0; i < alerts->count; i++) {
		struct alert *alert = &alerts->list[i];
		if (alert->run == run && alert->subject == subject && strcmp(alert->rule, rule) == 0)
			return alert;
	}
	return NULL;
}

struct alert *alerts_claim(struct alerts *alerts, enum severity severity)
{
	if (alerts->count < ALERTS_MAX)
		return &alerts->list[alerts->count++];
	struct alert *last = &alerts->list[0];
	for (size_t i = 1; i < alerts->count; i++)
		if (compare_alerts(&alerts->list[i], last) > 0)
			last = &alerts->list[i];
	return last->is_raised && last->severity >= severity ? NULL : last;
}

void alert_clear(struct alert *alert, int64_t now_ns)
{
	if (!alert || !alert->is_raised)
		return;
	alert->is_raised = false;
	alert->cleared_ns = now_ns;
}

size_t alerts_raised(const struct alerts *alerts)
{
	size_t raised = 0;
	for (size_t i = 0; i < alerts->count; i++)
		raised += alerts->list[i].is_raised;
	return raised;
}

void alerts_note(
	struct alerts *alerts, int64_t now_ns, const char *name, enum severity severity, const struct reason *reason)
{
	struct alert *alert = alerts_claim(alerts, severity);
	if (!alert)
		return;
	*alert = (struct alert){ .rule = name,
		.is_of_model = true,
		.severity = severity,
		.is_raised = true,
		.since_ns = now_ns,
		.value = NAN,
		.level = NAN };
	text_clean(alert->message, sizeof alert->message, reason->text, strlen(reason->text));
	if (reason->remedy[0])
		text_clean(
			alert->advice[alert->advice_count++], sizeof alert->advice[0], reason->remedy, strlen(reason->remedy));
	alerts_sort(alerts);
}

/* -- texts of a warning -- */

/* Without those that are hidden behind what their process publishes. */
static bool has_several_runs(const struct model *model)
{
	unsigned count = 0;
	for (unsigned i = 0; i < model->run_count; i++)
		count += model->runs[i].is_used;
	return count > 1;
}

/* With several runs in the model, a message begins with its rank, or the run's name. */
static size_t name_rank(struct alert *alert, const struct context *context)
{
	if (!context->run || !has_several_runs(context->model))
		return 0;
	char whose[10];
	const char *rank = context->run->rank[0] ? context->run->rank : context->run->name;
	text_clean(whose, sizeof whose, rank, strlen(rank));
	return (size_t)snprintf(
		alert->message, sizeof alert->message, "%s%s: ", context->run->rank[0] ? "rank " : "", whose);
}

static void add_advice(struct alert *alert, const struct rule_book *book, const struct rule *rule,
	const struct context *context, unsigned depth);

/* False if its condition does not hold, or a figure in it is unknown. */
static bool add_choice(struct alert *alert, const struct rule_book *book, const struct rule_choice *choice,
	const struct context *context, unsigned depth)
{
	if (rule_terms_hold(&choice->terms, context, NULL) != TRUTH_YES)
		return false;
	if (choice->as_name) {
		const struct rule *other = rule_find(book, choice->as_name);
		if (other && depth < RULE_ADVICE_DEPTH)
			add_advice(alert, book, other, context, depth + 1);
		return true;
	}
	if (!rule_text_fill(&choice->say, context, alert->advice[alert->advice_count], sizeof alert->advice[0]))
		return false;
	alert->advice_count++;
	return true;
}

static void add_advice(struct alert *alert, const struct rule_book *book, const struct rule *rule,
	const struct context *context, unsigned depth)
{
	for (size_t i = 0; i < rule->advice_count; i++)
		for (size_t k = 0; k < rule->advice[i].count && alert->advice_count < ALERT_ADVICE_MAX; k++)
			if (add_choice(alert, book, &rule->advice[i].list[k], context, depth))
				break;
}

void alert_report(
	struct alert *alert, const struct rule_book *book, const struct rule *rule, const struct context *context)
{
	size_t used = name_rank(alert, context);
	const struct rule_choice *message = rule_choose(&rule->message, context),
							 *meaning = rule_choose(&rule->meaning, context);
	if (message)
		rule_text_fill(&message->say, context, alert->message + used, sizeof alert->message - used);
	alert->meaning[0] = '\0';
	if (meaning)
		rule_text_fill(&meaning->say, context, alert->meaning, sizeof alert->meaning);
	alert->evidence_count = alert->advice_count = 0;
	for (size_t i = 0; i < rule->evidence_count; i++) {
		double value = figure_number(&rule->evidence[i].figure, context);
		if (isfinite(value))
			alert->evidence[alert->evidence_count++] = (struct alert_evidence){ rule->evidence[i].key, value };
	}
	add_advice(alert, book, rule, context, 0);
	snprintf(alert->guide, sizeof alert->guide, "%s", rule->guide);
}

/* -- figures near their levels -- */

struct watch *watch_find(struct alerts_private *priv, const struct rule *rule, unsigned run, uint32_t subject)
{
	for (size_t i = 0; i < priv->watch_count; i++) {
		struct watch *watch = &priv->watches[i];
		if (watch->rule == rule && watch->run == run && watch->subject == subject)
			return watch;
	}
	return NULL;
}

static void end_watch(struct alerts *alerts, struct watch *watch)
{
	struct alert *alert = alerts_find(alerts, watch->rule->name, watch->run, watch->subject);
	if (alert)
		alert->history = NULL;
	series_free(watch->history);
}

void watches_release(struct alerts *alerts)
{
	for (size_t i = 0; i < alerts->priv->watch_count; i++)
		end_watch(alerts, &alerts->priv->watches[i]);
	alerts->priv->watch_count = 0;
}

/* A free entry, or that of the figure that has been far from its level for the longest time; NULL if all are near. */
static struct watch *claim_watch(struct alerts *alerts, int64_t now_ns)
{
	struct alerts_private *priv = alerts->priv;
	if (priv->watch_count < WATCHES_MAX)
		return &priv->watches[priv->watch_count++];
	struct watch *oldest = &priv->watches[0];
	for (size_t i = 1; i < WATCHES_MAX; i++)
		if (priv->watches[i].near_ns < oldest->near_ns)
			oldest = &priv->watches[i];
	if (oldest->near_ns == now_ns)
		return NULL;
	end_watch(alerts, oldest);
	return oldest;
}

struct watch *watch_figure(struct alerts *alerts, const struct rule *rule, const struct context *context, double value)
{
	uint32_t subject = context->phase ? context->phase->name : NAME_NONE;
	int64_t now_ns = context->model->now_ns;
	bool is_near = rule_is_near(rule, value);
	struct watch *watch = watch_find(alerts->priv, rule, context->index, subject);
	if (!watch && is_near && (watch = claim_watch(alerts, now_ns)))
		*watch = (struct watch){ .rule = rule, .run = context->index, .subject = subject, .history = series_new() };
	if (!watch)
		return NULL;
	if (is_near)
		watch->near_ns = now_ns;
	series_push(watch->history, now_ns, value);
	return watch;
}
