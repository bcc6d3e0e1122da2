/* json_ras.h: what NCCL's RAS service says of all ranks of the job. */
#ifndef PMTOP_EXPORT_JSON_JSON_RAS_H
#define PMTOP_EXPORT_JSON_JSON_RAS_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

/* The object "ras"; nothing if NCCL has not answered. */
void json_ras(struct json *json, const struct model *model);

#endif
