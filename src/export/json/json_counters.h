/* json_counters.h: `counters{}` of the JSON object: what CPU and kernel counted of the tree. Internal to src/export. */
#ifndef PMTOP_EXPORT_JSON_JSON_COUNTERS_H
#define PMTOP_EXPORT_JSON_JSON_COUNTERS_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

/* Left out whole where nothing was counted and `run` (may be NULL) publishes nothing of which FLOPs follow. */
void json_counters(struct json *json, const struct model *model, const struct run *run);

#endif
