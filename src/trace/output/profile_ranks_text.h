/* profile_ranks_text.h: several traces beside each other, as text. */
#ifndef PMTOP_TRACE_PROFILE_RANKS_TEXT_H
#define PMTOP_TRACE_PROFILE_RANKS_TEXT_H

#include "src/base/buffer.h"
#include "src/trace/output/profile_view.h"

/* A line for each trace: busy, idle, communication, steps; then the note, if there is one. */
void profile_ranks_as_text(
	struct buffer *out, struct profile_analysis *const *ranks, size_t count, const struct profile_view *view);
/* What keeps several traces from being one of each rank: ranks that are missing, or have several; "" if nothing does.
 * Returns `out`. */
enum { PROFILE_RANKS_NOTE_SIZE = 200 };
const char *profile_ranks_note(struct profile_analysis *const *ranks, size_t count, char out[PROFILE_RANKS_NOTE_SIZE]);
/* Whether one of them says its rank. */
bool profile_ranks_are_known(struct profile_analysis *const *ranks, size_t count);

#endif
