/* foreign_file.h: reads a regular file whose name comes from another process: inside that process's root, and only
 * if that process itself may read it.
 *
 *   foreign_file_read ── fork ──▶ child: the process's root → its user and groups, no capabilities of pmtop → openat2
 *   below that root → the pipe
 *
 * The other process chooses the name, so the name is untrusted: a link is followed within that process's root only,
 * and a device or a FIFO is never opened. A file system that does not respond blocks the child only, which is killed
 * and left behind. For one thread. */
#ifndef PMTOP_SOURCES_TARGET_FOREIGN_FILE_H
#define PMTOP_SOURCES_TARGET_FOREIGN_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/sources/target/foreign_rights.h"

enum { FOREIGN_FILE_MAX = 4 << 20, FOREIGN_CHILDREN_MAX = 8, FOREIGN_TIMEOUTS_MAX = 3 };

/* The children that read, and how often one timed out. */
struct foreign_reader {
	pid_t children[FOREIGN_CHILDREN_MAX]; /* may still run */
	unsigned child_count;
	unsigned timeouts;
	/* no child starts before this time, because the last one timed out or failed to start */
	int64_t next_ns;
	_Atomic bool has_given_up; /* after FOREIGN_TIMEOUTS_MAX; any thread may read it. `why` is valid then */
	struct reason why;
};

/* `process_fd`: /proc/PID; a relative name starts at that process's working directory. `newest_ns`: a file that
 * changed later (CLOCK_REALTIME) is refused. *text is the caller's (free), *length its bytes; it may be empty.
 * Blocks for at most a second. AGAIN: a timeout, now or recently: try later, unless has_given_up. Otherwise the
 * reason why there is no text: DENIED, NOT_FOUND, INVALID (not a regular file, too large, or newer), UNSUPPORTED
 * (this kernel has no openat2), IO, NO_MEMORY. */
enum status foreign_file_read(struct foreign_reader *reader, int process_fd, const struct foreign_rights *rights,
	const char *name, int64_t newest_ns, char **text, size_t *length);
/* Kills the children that still read, and does not wait for them. */
void foreign_reader_release(struct foreign_reader *reader);

#endif
