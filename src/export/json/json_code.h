/* json_code.h: `code{}` of the JSON object: where the Python code of the run spends its time. Internal to
 * src/export. */
#ifndef PMTOP_EXPORT_JSON_JSON_CODE_H
#define PMTOP_EXPORT_JSON_JSON_CODE_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

/* Omitted if no Python process was sampled. */
void json_code(struct json *json, const struct model *model);

#endif
