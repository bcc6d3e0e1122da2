#include "src/rules/rule_now.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/rules/alerts.h"
#include "src/rules/rule_context.h"
#include "src/rules/rule_text.h"

const char *rule_state_name(enum rule_state state)
{
	static const char *const names[] = {
		[RULE_OFF] = "off", [RULE_LACKS] = "lacks", [RULE_CALM] = "calm", [RULE_HELD] = "held", [RULE_RAISED] = "raised"
	};
	return names[state];
}

/* Why a figure is unknown. */
static void describe_lack(const struct figure_ref *ref, const struct context *context, char out[FIGURE_TEXT_SIZE])
{
	char name[FIGURE_TEXT_SIZE / 2];
	const char *why = ref->row->lacks;
	figure_name(ref, name, sizeof name);
	if (!why)
		why = ref->row->of != RULE_OF_MODEL && !context->run       ? "no instrumented run"
			: ref->row->of != RULE_OF_MODEL && context->steps == 0 ? "no finished step yet"
																   : "not known yet";
	snprintf(out, FIGURE_TEXT_SIZE, "%s: %s", name, why);
}

/* Order of precedence over the runs and phases of a rule. A phase for which the condition is false comes last, so that
 * a missing figure of another phase is shown. */
static int order_of(enum rule_state state, double value)
{
	return state == RULE_CALM && isnan(value) ? 1 : (int)state + 1;
}

/* Replaces `out` if this run or phase has precedence, or the same and a figure farther beyond the level. */
static void take_state(const struct rule *rule, const struct context *context, struct rule_now *out)
{
	const struct figure_ref *unknown = NULL;
	double value = NAN;
	enum truth truth = rule_terms_hold(&rule->terms, context, &unknown);
	bool is_early = context->run && (double)context->steps < rule->min;
	if (!is_early && truth == TRUTH_YES)
		value = figure_number(&rule->figure, context);
	enum rule_state state = is_early || truth == TRUTH_UNKNOWN ? RULE_LACKS
		: truth == TRUTH_NO                                    ? RULE_CALM
		: isnan(value)                                         ? RULE_LACKS
		: rule_is_over(rule, value)                            ? RULE_HELD
															   : RULE_CALM;
	bool is_farther =
		!isnan(value) && (isnan(out->value) || (rule->is_below ? value < out->value : value > out->value));
	int order = order_of(state, value), before = out->state == RULE_OFF ? 0 : order_of(out->state, out->value);
	if (order < before || (order == before && !is_farther))
		return;
	*out = (struct rule_now){ .state = state, .value = value };
	if (context->phase)
		figure_shorten(out->subject, run_name(context->run, context->phase->name));
	if (is_early)
		snprintf(out->lacks, sizeof out->lacks, "needs %.0f steps, has %zu", rule->min, context->steps);
	else if (state == RULE_LACKS)
		describe_lack(unknown ? unknown : &rule->figure, context, out->lacks);
}

static void take_run(const struct rule *rule, struct context *context, struct rule_now *out)
{
	if (rule->of == RULE_OF_RUN)
		take_state(rule, context, out);
	for (size_t i = 0; rule->of == RULE_OF_PHASE && i < context->phase_count; i++) {
		context->phase = &context->phases[i];
		take_state(rule, context, out);
	}
	if (rule->of == RULE_OF_PHASE && context->phase_count == 0 && out->state < RULE_LACKS) {
		out->state = RULE_LACKS;
		describe_lack(&rule->figure, context, out->lacks);
	}
}

static void find_raised(
	const struct alerts *alerts, const struct model *model, const struct rule *rule, struct rule_now *out)
{
	for (size_t i = 0; i < alerts->count; i++) {
		const struct alert *alert = &alerts->list[i];
		if (!alert->is_raised || strcmp(alert->rule, rule->name) != 0)
			continue;
		*out = (struct rule_now){ .state = RULE_RAISED, .since_ns = alert->since_ns, .value = alert->value };
		if (alert->subject != NAME_NONE && alert->run < model->run_count)
			figure_shorten(out->subject, run_name(&model->runs[alert->run], alert->subject));
		return;
	}
}

void rule_now(const struct alerts *alerts, const struct model *model, const struct rule *rule, struct rule_now *out)
{
	struct context *context = malloc(sizeof *context);
	struct rule_cache *cache = malloc(sizeof *cache);
	*out = (struct rule_now){ .state = RULE_OFF, .value = NAN };
	if (context && cache && rule_judges(rule)) {
		rule_context_init(context, cache, model, -1, NULL);
		if (rule->of == RULE_OF_MODEL)
			take_state(rule, context, out);
		for (unsigned i = 0; rule->of != RULE_OF_MODEL && i < model->run_count; i++) {
			rule_context_init(context, cache, model, (int)i, alerts_patterns(alerts, i));
			take_run(rule, context, out);
		}
		if (rule->of != RULE_OF_MODEL && model->run_count == 0) {
			out->state = RULE_LACKS;
			snprintf(out->lacks, sizeof out->lacks, "no instrumented run");
		}
		find_raised(alerts, model, rule, out);
	}
	free(context);
	free(cache);
}

bool figure_now(
	const struct alerts *alerts, const struct model *model, const struct figure *row, char out[FIGURE_TEXT_SIZE])
{
	struct context *context = malloc(sizeof *context);
	struct rule_cache *cache = malloc(sizeof *cache);
	struct figure_ref ref = { row, NULL };
	bool is_known = false;
	out[0] = '\0';
	if (context && cache) {
		int run = row->of != RULE_OF_MODEL && model->run_count > 0 ? 0 : -1;
		rule_context_init(context, cache, model, run, run < 0 ? NULL : alerts_patterns(alerts, 0));
		context->phase = row->of == RULE_OF_PHASE && context->phase_count ? &context->phases[0] : NULL;
		is_known = figure_text(&ref, context, out);
		if (!is_known)
			describe_lack(&ref, context, out);
	}
	free(context);
	free(cache);
	return is_known;
}
