/* json_counters.h: `counters{}` of the JSON object: events of the CPU and the kernel, for the tree. Internal to
 * src/export. */
#ifndef PMTOP_EXPORT_JSON_JSON_COUNTERS_H
#define PMTOP_EXPORT_JSON_JSON_COUNTERS_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

/* Omitted if nothing was counted and `run` (may be NULL) publishes no FLOPs. */
void json_counters(struct json *json, const struct model *model, const struct run *run);

#endif
