/* snapshot_diff.h: two memory snapshots of a run: which lines hold more, and which less. */
#ifndef PMTOP_TRACE_SNAPSHOT_DIFF_H
#define PMTOP_TRACE_SNAPSHOT_DIFF_H

#include "src/base/formats/json.h"
#include "src/trace/output/profile_view.h"
#include "src/trace/snapshot/snapshot.h"

/* `b` gets the frames of `a`, too. */
void snapshot_diff_as_text(
	struct buffer *out, const struct snapshot *a, struct snapshot *b, const struct profile_view *view);
void snapshot_diff_as_json(struct json *json, const struct snapshot *a, struct snapshot *b);

#endif
