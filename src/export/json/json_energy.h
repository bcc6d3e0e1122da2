/* json_energy.h: `energy{}` of the JSON object: watts, joules, CO2, temperatures. Internal to src/export. */
#ifndef PMTOP_EXPORT_JSON_JSON_ENERGY_H
#define PMTOP_EXPORT_JSON_JSON_ENERGY_H

#include "src/base/formats/json.h"
#include "src/model/model.h"

/* Omitted without a meter and a sensor. `run`: its epochs are written; −1 = none. */
void json_energy(struct json *json, const struct model *model, int run, int64_t realtime_offset_ns);

#endif
