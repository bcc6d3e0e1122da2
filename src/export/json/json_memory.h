/* json_memory.h: `memory{}` of the JSON object. Internal to src/export. */
#ifndef PMTOP_EXPORT_JSON_JSON_MEMORY_H
#define PMTOP_EXPORT_JSON_JSON_MEMORY_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

/* `run` may be NULL. */
void json_memory(struct json *json, const struct model *model, const struct run *run, int64_t realtime_offset_ns);

#endif
