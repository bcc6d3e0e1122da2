#include "src/rules/alerts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/ranks/rank_places.h"
#include "src/rules/alerts_list.h"
#include "src/rules/alerts_private.h"
#include "src/rules/rule_book.h"
#include "src/rules/rule_context.h"
#include "src/rules/rule_text.h"

#define CLEAR_RATIO 0.9
#define NEAR_RATIO 0.5

/* -- a figure compared with its level -- */

bool rule_is_over(const struct rule *rule, double value)
{
	return rule->is_below ? value < rule->level : value > rule->level;
}

static bool rule_is_calm(const struct rule *rule, double value)
{
	if (!isnan(rule->clear_level))
		return rule->is_below ? value >= rule->clear_level : value <= rule->clear_level;
	/* CLEAR_RATIO has no effect on a level of 0. */
	if (!(rule->level < 0) && !(rule->level > 0))
		return !rule_is_over(rule, value);
	return rule->is_below ? value * CLEAR_RATIO > rule->level : value < CLEAR_RATIO * rule->level;
}

bool rule_is_near(const struct rule *rule, double value)
{
	return rule->is_below ? value * NEAR_RATIO < rule->level : value > NEAR_RATIO * rule->level;
}

/* -- raising and clearing -- */

static struct alert *raise_alert(
	struct alerts *alerts, struct alert *alert, const struct context *context, const struct rule *rule)
{
	if (!alert && !(alert = alerts_claim(alerts, rule->severity)))
		return NULL;
	*alert = (struct alert){
		.rule = rule->name,
		.run = context->index,
		.subject = context->phase ? context->phase->name : NAME_NONE,
		.action = rule->action,
		.is_of_model = rule->of == RULE_OF_MODEL,
		.severity = rule->severity,
		.is_raised = true,
		.since_ns = context->model->now_ns,
		.unit = figure_form_unit(rule->figure.row->form),
	};
	return alert;
}

/* The figure is calm: clears the warning if it has been calm for clear_s. */
static void calm_alert(struct alert *alert, double clear_s, int64_t now_ns)
{
	if (!alert->calm_since_ns)
		alert->calm_since_ns = now_ns;
	if (seconds_between(alert->calm_since_ns, now_ns) >= clear_s)
		alert_clear(alert, now_ns);
}

static void report(struct alert *alert, const struct alerts *alerts, const struct context *context,
	const struct rule *rule, double value, const struct watch *watch)
{
	alert->value = value;
	alert->level = rule->level;
	alert->history = watch ? watch->history : NULL;
	alert_report(alert, alerts->priv->book, rule, context);
}

static enum truth holds(const struct rule *rule, const struct context *context, double *value)
{
	if (context->run && (double)context->steps < rule->min)
		return TRUTH_UNKNOWN;
	enum truth condition = rule_terms_hold(&rule->terms, context, NULL);
	if (condition != TRUTH_YES)
		return condition;
	*value = figure_number(&rule->figure, context);
	return isnan(*value) ? TRUTH_UNKNOWN : TRUTH_YES;
}

/* Whether the figure has been beyond its level for the rule's time. */
static bool has_lasted(const struct rule *rule, struct watch *watch, double value, int64_t now_ns)
{
	bool is_over = rule_is_over(rule, value);
	if (!watch)
		return is_over && rule->for_s <= 0;
	if (!is_over)
		watch->over_since_ns = 0;
	else if (!watch->over_since_ns)
		watch->over_since_ns = now_ns;
	return is_over && seconds_between(watch->over_since_ns, now_ns) >= rule->for_s;
}

/* Evaluates one rule. Returns whether its warning is raised. */
static bool evaluate_rule(struct alerts *alerts, const struct context *context, const struct rule *rule)
{
	int64_t now_ns = context->model->now_ns;
	struct alert *alert =
		alerts_find(alerts, rule->name, context->index, context->phase ? context->phase->name : NAME_NONE);
	bool is_raised = alert && alert->is_raised;
	double value = NAN;
	enum truth truth = holds(rule, context, &value);
	if (truth == TRUTH_UNKNOWN)
		return is_raised;
	struct watch *watch = truth == TRUTH_YES
		? watch_figure(alerts, rule, context, value)
		: watch_find(alerts->priv, rule, context->index, context->phase ? context->phase->name : NAME_NONE);
	if (truth == TRUTH_NO && watch)
		watch->over_since_ns = 0;
	if (!is_raised && (truth == TRUTH_NO || !has_lasted(rule, watch, value, now_ns)))
		return false;
	if (is_raised && (truth == TRUTH_NO || rule_is_calm(rule, value))) {
		calm_alert(alert, rule->clear_s, now_ns);
		return alert->is_raised;
	}
	if (!is_raised && !(alert = raise_alert(alerts, alert, context, rule)))
		return false;
	alert->calm_since_ns = 0;
	report(alert, alerts, context, rule, value, watch);
	return true;
}

/* Clears a suppressed warning at once and restarts its time. */
static void suppress_rule(struct alerts *alerts, const struct context *context, const struct rule *rule)
{
	uint32_t subject = context->phase ? context->phase->name : NAME_NONE;
	struct watch *watch = watch_find(alerts->priv, rule, context->index, subject);
	if (watch)
		watch->over_since_ns = 0;
	alert_clear(alerts_find(alerts, rule->name, context->index, subject), context->model->now_ns);
}

/* Rules that are raised and quiet others, each once. */
struct raised {
	const struct rule *list[RULES_MAX];
	size_t count;
};

static bool is_quieted(const struct rule *rule, const struct raised *raised)
{
	for (size_t i = 0; i < raised->count; i++)
		for (size_t k = 0; k < raised->list[i]->quiets_count; k++)
			if (strcmp(raised->list[i]->quiets[k], rule->name) == 0)
				return true;
	return false;
}

static void add_raised(struct raised *raised, const struct rule *rule)
{
	for (size_t i = 0; i < raised->count; i++)
		if (raised->list[i] == rule)
			return;
	raised->list[raised->count++] = rule;
}

/* Adds to `raised`, whose rules quiet those of this scope. The book is sorted: rules that quiet others come first. */
static void evaluate_scope(
	struct alerts *alerts, const struct context *context, enum rule_scope scope, struct raised *raised)
{
	const struct rule_book *book = alerts->priv->book;
	for (size_t i = 0; i < book->count; i++) {
		const struct rule *rule = book->list[i];
		if (rule->of != scope || !rule_judges(rule))
			continue;
		if (is_quieted(rule, raised))
			suppress_rule(alerts, context, rule);
		else if (evaluate_rule(alerts, context, rule) && rule->quiets_count)
			add_raised(raised, rule);
	}
}

/* -- a run -- */

static bool has_phase(const struct context *context, uint32_t name)
{
	for (size_t i = 0; i < context->phase_count; i++)
		if (context->phases[i].name == name)
			return true;
	return false;
}

static double clear_time(const struct alerts *alerts, const struct alert *alert)
{
	const struct rule *rule = rule_find(alerts->priv->book, alert->rule);
	return rule ? rule->clear_s : 0;
}

/* A phase that no recent step has takes no time. */
static void calm_absent_phases(struct alerts *alerts, const struct context *context)
{
	for (size_t i = 0; i < alerts->count; i++) {
		struct alert *alert = &alerts->list[i];
		if (alert->is_raised && alert->run == context->index && alert->subject != NAME_NONE &&
			!has_phase(context, alert->subject))
			calm_alert(alert, clear_time(alerts, alert), context->model->now_ns);
	}
}

static bool is_of_run(const struct alerts *alerts, const struct alert *alert)
{
	const struct rule *rule = rule_find(alerts->priv->book, alert->rule);
	return rule && rule->of != RULE_OF_MODEL;
}

static void evaluate_run(struct alerts *alerts, const struct model *model, unsigned index)
{
	struct context *context = &alerts->priv->context;
	rule_context_init(context, &alerts->priv->cache, model, (int)index, alerts_patterns(alerts, index));
	struct raised all = { .count = 0 };
	for (size_t i = 0; i < context->phase_count; i++) {
		struct raised own = { .count = 0 };
		context->phase = &context->phases[i];
		evaluate_scope(alerts, context, RULE_OF_PHASE, &own);
		for (size_t k = 0; k < own.count; k++)
			add_raised(&all, own.list[k]);
	}
	context->phase = NULL;
	evaluate_scope(alerts, context, RULE_OF_RUN, &all);
	if (context->steps)
		calm_absent_phases(alerts, context);
}

/* Ranks of one run do the same work: only the one shown first and the slowest are evaluated. */
static bool is_evaluated(const struct model *model, const struct ranks *ranks, int first, unsigned index)
{
	if (first < 0 || (int)index == first || !ranks_are_of_one_run(&model->runs[first], &model->runs[index]))
		return true;
	return ranks->slowest >= 0 && ranks->list[ranks->slowest].run == index;
}

static void calm_run(struct alerts *alerts, unsigned index, int64_t now_ns)
{
	for (size_t i = 0; i < alerts->count; i++)
		if (alerts->list[i].run == index && alerts->list[i].is_raised && is_of_run(alerts, &alerts->list[i]))
			calm_alert(&alerts->list[i], clear_time(alerts, &alerts->list[i]), now_ns);
}

/* -- all runs -- */

void alerts_release(struct alerts *alerts)
{
	if (alerts->priv) {
		watches_release(alerts);
		rule_book_free(alerts->priv->own);
		free(alerts->priv);
	}
	free(alerts->patterns);
	*alerts = (struct alerts){ 0 };
}

const struct patterns *alerts_patterns(const struct alerts *alerts, unsigned run)
{
	return run < alerts->pattern_room ? &alerts->patterns[run] : NULL;
}

static void update_patterns(struct alerts *alerts, const struct model *model)
{
	if (alerts->pattern_room < model->run_count) {
		struct patterns *patterns = realloc(alerts->patterns, model->run_count * sizeof *patterns);
		if (!patterns)
			return;
		for (; alerts->pattern_room < model->run_count; alerts->pattern_room++)
			patterns[alerts->pattern_room] = (struct patterns){ 0 };
		alerts->patterns = patterns;
	}
	for (unsigned i = 0; i < model->run_count; i++)
		patterns_update(&alerts->patterns[i], model, &model->runs[i]);
}

/* False when out of memory. */
static bool take_rules(struct alerts *alerts, const struct rule_book *rules)
{
	if (!alerts->priv && !(alerts->priv = calloc(1, sizeof *alerts->priv)))
		return false;
	struct alerts_private *priv = alerts->priv;
	if (!rules && !priv->own)
		priv->own = rule_book_new();
	rules = rules ? rules : priv->own;
	if (rules != priv->book)
		watches_release(alerts);
	priv->book = rules;
	return rules != NULL;
}

void alerts_update(struct alerts *alerts, const struct model *model, const struct settings *settings)
{
	if (!take_rules(alerts, settings->rules))
		return;
	update_patterns(alerts, model);
	struct alerts_private *priv = alerts->priv;
	rule_context_init(&priv->context, &priv->cache, model, -1, NULL);
	struct raised raised = { .count = 0 };
	evaluate_scope(alerts, &priv->context, RULE_OF_MODEL, &raised);

	struct ranks *ranks = &priv->cache.ranks;
	bool evaluated[MODEL_RUNS_MAX];
	int first = ranks_first(model, NULL, NULL);
	ranks_compare(model, first < 0 ? model->run_count : (unsigned)first, ranks);
	for (unsigned i = 0; i < model->run_count && i < MODEL_RUNS_MAX; i++)
		evaluated[i] = is_evaluated(model, ranks, first, i);
	for (unsigned i = 0; i < model->run_count; i++) {
		if (!model->runs[i].is_used)
			continue;
		if (i >= MODEL_RUNS_MAX || evaluated[i])
			evaluate_run(alerts, model, i);
		else
			calm_run(alerts, i, model->now_ns);
	}
	alerts_sort(alerts);
}
