/* json_workers.h: `workers[]` and `workers_total{}` of the JSON object. Internal to src/export. */
#ifndef PMTOP_EXPORT_JSON_JSON_WORKERS_H
#define PMTOP_EXPORT_JSON_JSON_WORKERS_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

/* The workers of a run; without a run, those of the whole tree. */
void json_workers(struct json *json, const struct model *model, int run);

#endif
