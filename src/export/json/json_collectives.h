/* json_collectives.h: `collectives{}` of the JSON object. Internal to src/export. */
#ifndef PMTOP_EXPORT_JSON_JSON_COLLECTIVES_H
#define PMTOP_EXPORT_JSON_JSON_COLLECTIVES_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

void json_collectives(struct json *json, const struct model *model);

#endif
