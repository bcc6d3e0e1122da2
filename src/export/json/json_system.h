/* json_system.h: `system{}` of the JSON object: the machine and the cgroup. Internal to src/export. */
#ifndef PMTOP_EXPORT_JSON_JSON_SYSTEM_H
#define PMTOP_EXPORT_JSON_JSON_SYSTEM_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

/* Left out whole where nothing was read of the machine; so is each part of which nothing is known. */
void json_system(struct json *json, const struct model *model);

#endif
