/* profile_diff.h: two traces side by side: what became slower or faster. */
#ifndef PMTOP_TRACE_PROFILE_DIFF_H
#define PMTOP_TRACE_PROFILE_DIFF_H

#include "src/base/buffer.h"
#include "src/trace/output/profile_view.h"

void profile_diff_as_text(struct buffer *out, const struct profile_analysis *a, const struct profile_analysis *b,
	const struct profile_view *view);
void profile_diff_as_json(struct buffer *out, const struct profile_analysis *a, const struct profile_analysis *b,
	const struct profile_view *view);

#endif
