/* profile_progress.h: how far a trace is read, for another thread that shows it, and how that thread stops the reading.
 */
#ifndef PMTOP_TRACE_PROFILE_PROGRESS_H
#define PMTOP_TRACE_PROFILE_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

struct profile_progress {
	atomic_uint_fast64_t done_bytes, size_bytes; /* of the file as it lies on disk; size 0 = unknown */
	atomic_bool is_stopped;                      /* set by the other thread */
};

/* `progress` may be NULL. */
static inline bool profile_progress_is_stopped(const struct profile_progress *progress)
{
	return progress && atomic_load(&progress->is_stopped);
}

#endif
