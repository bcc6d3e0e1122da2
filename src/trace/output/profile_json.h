/* profile_json.h: an analysis as JSON. Times are seconds, relative to the first event where they are points in time; a
 * key whose value is unknown is left out. pmtop-trace(1) lists the keys. */
#ifndef PMTOP_TRACE_PROFILE_JSON_H
#define PMTOP_TRACE_PROFILE_JSON_H

#include "src/base/buffer.h"
#include "src/trace/output/profile_view.h"

/* One trace is one object; several are {"ranks": [object, …]}. */
void profile_as_json(
	struct buffer *out, struct profile_analysis *const *ranks, size_t count, const struct profile_view *view);

#endif
