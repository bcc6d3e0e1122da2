/* json_system.h: `system{}` of the JSON object: the machine and the cgroup. Internal to src/export. */
#ifndef PMTOP_EXPORT_JSON_JSON_SYSTEM_H
#define PMTOP_EXPORT_JSON_JSON_SYSTEM_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

/* Omitted if nothing was read; a group is omitted if all its figures are unknown. */
void json_system(struct json *json, const struct model *model);

#endif
