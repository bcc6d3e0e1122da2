/* json_patterns.h: what slow batches have in common, and a run that stands still, as members of the object that stands open. */
#ifndef PMTOP_EXPORT_JSON_PATTERNS_H
#define PMTOP_EXPORT_JSON_PATTERNS_H

#include "src/base/json.h"
#include "src/model/model.h"
#include "src/rules/alerts.h"

/* "patterns":[…], empty where there are none, and "stall":{…} while it stands still. */
void json_patterns(struct json *json, const struct model *model, const struct alerts *alerts, const struct run *run);

#endif
