/* profile_source.h: the bytes of a file, decompressed if it is gzip. A thread reads ahead, so that reading and
 * decompressing overlap with parsing. */
#ifndef PMTOP_TRACE_PROFILE_SOURCE_H
#define PMTOP_TRACE_PROFILE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/status.h"
#include "src/trace/reading/profile_progress.h"

struct profile_source;

enum { PROFILE_SOURCE_ROOM_BEFORE = 32 << 10 };

/* `path` may be - for standard input. `progress` may be NULL; once stopped, the source ends. */
enum status profile_source_open(
	struct profile_source **source, const char *path, struct profile_progress *progress, struct reason *why_not);
/* The next block, and its length: 0 = the end, or the file cannot be read further. Before it are
 * PROFILE_SOURCE_ROOM_BEFORE bytes that the caller may write, behind it PROFILE_TOKEN_PADDING. It is the caller's until
 * profile_source_release(), which returns the oldest; at most two at a time. */
size_t profile_source_next(struct profile_source *source, char **block);
void profile_source_release(struct profile_source *source);
/* After the end: why the file could not be read further; STATUS_OK: it ended. */
enum status profile_source_failure(struct profile_source *source, struct reason *why_not);
bool profile_source_is_compressed(const struct profile_source *source);
/* `source` may be NULL. */
void profile_source_close(struct profile_source *source);

#endif
