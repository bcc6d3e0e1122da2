/* json_gpu.h: `gpu[]` of the JSON object. Internal to src/export. */
#ifndef PMTOP_EXPORT_JSON_JSON_GPU_H
#define PMTOP_EXPORT_JSON_JSON_GPU_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

/* Omitted if no GPU was found. */
void json_gpus(struct json *json, const struct model *model, int64_t realtime_offset_ns);

/* Parts that other formats share; they add members to the open object. */
void json_gpu_identity(struct json *json, const struct model *model, const struct gpu *gpu);
void json_gpu_figures(struct json *json, const struct gpu *gpu);

#endif
