/* profile_read.h: reads a trace in one pass. Damaged events are skipped and counted; a file that is cut off gives what
 * stands before the cut. */
#ifndef PMTOP_TRACE_PROFILE_READ_H
#define PMTOP_TRACE_PROFILE_READ_H

#include "src/trace/store/profile.h"

struct profile_progress;

/* `path`: plain or gzip; - for standard input. `progress` may be NULL. STATUS_UNSUPPORTED: readable, but no trace. */
enum status profile_read(
	struct profile *profile, const char *path, struct profile_progress *progress, struct reason *why_not);
enum status profile_read_memory(struct profile *profile, const void *bytes, size_t length, struct reason *why_not);
/* Whether a file begins like a trace. Reads its first bytes only. */
bool profile_is_trace(const char *path);

#endif
