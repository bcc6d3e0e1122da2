#include "src/export/json/json_events.h"

#include <stdio.h>

#include "src/explain/causes/causes_words.h"
#include "src/rules/alerts_list.h"

static void write_cause(
	struct json *json, const struct run *run, const struct explanation *why, const struct cause *cause)
{
	json_open_object(json, NULL);
	json_text(json, "what", cause->what);
	json_text(json, "kind", cause_kind_id(cause->kind));
	if (cause->phase != NAME_NONE)
		json_text(json, "phase", run_name(run, cause->phase));
	json_number(json, "share_ratio", cause->share_ratio);
	json_number(json, "excess_s", cause->excess_s);
	json_text(json, "next", cause->next[0] ? cause->next : NULL);
	json_text(json, "file", cause->file);
	if (cause->file)
		json_unsigned(json, "line", cause->line);
	json_text(json, "thread", cause->thread);
	json_open_object(json, "evidence");
	json_number(json, "excess_s", cause->excess_s);
	for (size_t i = 0; i < why->row_count; i++)
		if (cause->phase != NAME_NONE && why->rows[i].name == cause->phase && why->rows[i].depth == 0) {
			json_number(json, "this_s", why->rows[i].this_s);
			json_number(json, "usual_s", why->rows[i].baseline_s);
		}
	for (size_t i = 0; i < cause->evidence_count; i++) {
		char key[64];
		snprintf(key, sizeof key, "usual_%s", cause->evidence[i].key);
		json_number(json, cause->evidence[i].key, cause->evidence[i].this_value);
		json_number(json, key, cause->evidence[i].baseline_value);
	}
	json_close_object(json);
	json_close_object(json);
}

void json_causes(struct json *json, const struct run *run, const struct explanation *why)
{
	json_open_array(json, "causes");
	for (size_t i = 0; i < why->cause_count; i++)
		write_cause(json, run, why, &why->causes[i]);
	json_close_array(json);
}

void json_alert(struct json *json, const struct alert *alert)
{
	json_text(json, "rule", alert->rule);
	json_text(json, "severity", severity_name(alert->severity));
	json_text(json, "message", alert->message);
	json_open_object(json, "evidence");
	for (size_t k = 0; k < alert->evidence_count; k++)
		json_number(json, alert->evidence[k].key, alert->evidence[k].value);
	json_close_object(json);
	json_open_array(json, "advice");
	for (size_t k = 0; k < alert->advice_count; k++)
		json_text(json, NULL, alert->advice[k]);
	json_close_array(json);
}

void json_epoch_index(struct json *json, const char *key, uint32_t index)
{
	if (index != EPOCH_UNKNOWN)
		json_unsigned(json, key, index);
}

void json_epoch_figures(struct json *json, const struct run *run, const struct epoch *epoch)
{
	json_unsigned(json, "batches", epoch->batches);
	if (run_epoch_is_at_least(run, epoch))
		json_bool(json, "is_at_least", true);
	json_number(json, "total_s", epoch->total_s);
	if (epoch->batches) {
		json_number(json, "mean_s", epoch->mean_s);
		json_number(json, "min_s", epoch->min_s);
		json_number(json, "max_s", epoch->max_s);
	}
}
