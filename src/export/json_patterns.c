#include "src/export/json_patterns.h"

#include "src/rules/patterns.h"
#include "src/rules/stall.h"

static void write_period(struct json *json, const struct pattern *pattern)
{
	json_number(json, "period", pattern->period);
	json_text(json, "unit", pattern_unit_name(pattern->unit));
	json_unsigned(json, "count", pattern->count);
	json_unsigned(json, "of", pattern->of);
	json_text(json, "candidate", pattern->candidate[0] ? pattern->candidate : NULL);
}

static void write_pattern(struct json *json, const struct run *run, const struct pattern *pattern)
{
	char words[160];
	json_open_object(json, NULL);
	json_text(json, "kind", pattern_kind_name(pattern->kind));
	json_text(json, "message", pattern_words(pattern, run, words, sizeof words));
	if (pattern->kind == PATTERN_PERIOD)
		write_period(json, pattern);
	json_text(json, "what", pattern->what[0] ? pattern->what : NULL);
	json_unsigned(json, "first", pattern->first);
	if (pattern->kind == PATTERN_PERIOD)
		json_unsigned(json, "last", pattern->last);
	json_number(json, "before_s", pattern->before_s);
	json_number(json, "after_s", pattern->after_s);
	json_close_object(json);
}

static void write_stall(struct json *json, const struct stall *stall)
{
	json_open_object(json, "stall");
	json_number(json, "seconds", stall->seconds);
	json_number(json, "usual_s", stall->usual_s);
	json_bool(json, "is_between_batches", stall->is_between);
	json_text(json, "stack", stall->stack[0] ? stall->stack : NULL);
	json_text(json, "why", stall->why[0] ? stall->why : NULL);
	json_close_object(json);
}

void json_patterns(struct json *json, const struct model *model, const struct alerts *alerts, const struct run *run)
{
	const struct patterns *patterns = alerts_patterns(alerts, (unsigned)(run - model->runs));
	struct stall stall;
	json_open_array(json, "patterns");
	for (size_t i = 0; patterns && i < patterns->count; i++)
		write_pattern(json, run, &patterns->list[i]);
	json_close_array(json);
	if (stall_find(model, run, &stall))
		write_stall(json, &stall);
}
