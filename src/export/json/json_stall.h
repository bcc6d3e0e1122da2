/* json_stall.h: adds a stalled run to the open JSON object. */
#ifndef PMTOP_EXPORT_JSON_JSON_STALL_H
#define PMTOP_EXPORT_JSON_JSON_STALL_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

/* "stall":{…} while the run is stalled; else nothing. */
void json_stall(struct json *json, const struct model *model, const struct run *run);

#endif
