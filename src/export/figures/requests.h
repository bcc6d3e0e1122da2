/* requests.h: a run's requests as `requests{}` of the JSON object, and as the tables REQUESTS and REQUESTS BY THE HOUR.
 * Internal to src/export. Nothing is written if there are none. */
#ifndef PMTOP_EXPORT_FIGURES_REQUESTS_H
#define PMTOP_EXPORT_FIGURES_REQUESTS_H

#include "src/base/buffer.h"
#include "src/base/formats/json.h"
#include "src/model/model.h"

void json_requests(struct json *json, const struct model *model, const struct run *run, int64_t realtime_offset_ns);
void report_requests(struct buffer *out, const struct model *model, const struct run *run);

#endif
