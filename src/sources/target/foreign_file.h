/* foreign_file.h: a regular file that another process named, as that process finds it (in its root) and only if that
 * process itself may read it.
 *
 *   foreign_file_read ── fork ──▶ child: the process's root → its user, groups, no capability of ours → openat2 below
 * that root → the pipe
 *
 * The other process chooses the name, so the name is hostile: a link is followed within that process's root only, a
 * device or a FIFO is never opened, and a file system that never answers holds the child only, which is killed and left
 * behind. One thread. */
#ifndef PMTOP_SOURCES_TARGET_FOREIGN_FILE_H
#define PMTOP_SOURCES_TARGET_FOREIGN_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/sources/target/foreign_rights.h"

enum { FOREIGN_FILE_MAX = 4 << 20, FOREIGN_CHILDREN_MAX = 8, FOREIGN_TIMEOUTS_MAX = 3 };

/* The children that read, and how often one did not answer. */
struct foreign_reader {
	pid_t children[FOREIGN_CHILDREN_MAX]; /* that may not have ended yet */
	unsigned child_count;
	unsigned timeouts;
	/* none is started before: the last did not answer or could not be started */
	int64_t next_ns;
	_Atomic bool has_given_up; /* after FOREIGN_TIMEOUTS_MAX; any thread. `why` stands then */
	struct reason why;
};

/* `process_fd`: /proc/PID; a name that is not absolute is one of its working directory. `newest_ns`: a file that was
 * changed later (CLOCK_REALTIME) is refused. *text is the caller's (free), *length its bytes; it may be empty. Waits
 * for a second at most. AGAIN: it did not answer, or too many before it did not: ask later, unless has_given_up.
 * Otherwise why there is no text: DENIED, NOT_FOUND, INVALID (no regular file, too large, or newer), UNSUPPORTED (this
 * kernel has no openat2), IO, NO_MEMORY. */
enum status foreign_file_read(struct foreign_reader *reader, int process_fd, const struct foreign_rights *rights,
	const char *name, int64_t newest_ns, char **text, size_t *length);
/* Kills what still reads, and waits for nobody. */
void foreign_reader_release(struct foreign_reader *reader);

#endif
