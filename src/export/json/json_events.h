/* json_events.h: adds events of a run to the open JSON object; pmtop's object and --to=jsonl share them. Internal to
 * src/export. */
#ifndef PMTOP_EXPORT_JSON_JSON_EVENTS_H
#define PMTOP_EXPORT_JSON_JSON_EVENTS_H

#include "src/base/formats/json.h"
#include "src/explain/explain.h"
#include "src/model/run/run.h"
#include "src/rules/alerts.h"

/* "causes":[…], with their evidence. */
void json_causes(struct json *json, const struct run *run, const struct explanation *why);
/* Rule, severity, message, evidence, advice. */
void json_alert(struct json *json, const struct alert *alert);
/* Batches, total_s, mean_s, min_s, max_s. */
/* Omitted if unknown. */
void json_epoch_index(struct json *json, const char *key, uint32_t index);
void json_epoch_figures(struct json *json, const struct run *run, const struct epoch *epoch);

#endif
