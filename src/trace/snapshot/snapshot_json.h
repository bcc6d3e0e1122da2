/* snapshot_json.h: memory snapshots as JSON: pmtop-trace(1) describes the keys. */
#ifndef PMTOP_TRACE_SNAPSHOT_JSON_H
#define PMTOP_TRACE_SNAPSHOT_JSON_H

#include "src/base/formats/json.h"
#include "src/trace/output/profile_view.h"
#include "src/trace/snapshot/snapshot.h"

struct snapshot_line;

/* An object, as an element of an array or the outermost value. Of the view, the limit counts: 0 = all rows. */
void snapshot_as_json(struct json *json, const struct snapshot *snapshot, const struct profile_view *view);
/* The keys of a line within an open object. */
void snapshot_line_as_json(struct json *json, const struct snapshot *snapshot, uint32_t frame);

#endif
