/* json_stall.h: a run that stands still, as a member of the object that stands open. */
#ifndef PMTOP_EXPORT_JSON_JSON_STALL_H
#define PMTOP_EXPORT_JSON_JSON_STALL_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

/* "stall":{…} while it stands still; else nothing. */
void json_stall(struct json *json, const struct model *model, const struct run *run);

#endif
