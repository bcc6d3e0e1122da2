/* snapshot_text.h: a memory snapshot as text. */
#ifndef PMTOP_TRACE_SNAPSHOT_TEXT_H
#define PMTOP_TRACE_SNAPSHOT_TEXT_H

#include "src/base/buffer.h"
#include "src/trace/output/profile_view.h"
#include "src/trace/snapshot/snapshot.h"

/* Of the view, the limit (of rows), the width and the color count. */
void snapshot_as_text(struct buffer *out, const struct snapshot *snapshot, const struct profile_view *view);

#endif
