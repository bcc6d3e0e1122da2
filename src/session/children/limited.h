/* limited.h: work in a child process, because a file, library or driver can hang so that not even SIGKILL ends it. */
#ifndef PMTOP_SESSION_CHILDREN_LIMITED_H
#define PMTOP_SESSION_CHILDREN_LIMITED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Like fork. The child does the work that can hang, closes *fd when it is done, and ends with _exit. */
pid_t limited_fork(int *fd);
/* Parent: waits until the child has closed its *fd, and closes this one. Returns false if that took longer than
 * `limit_ns`: the child was sent SIGKILL, but may remain. */
bool limited_wait(pid_t child, int fd, int64_t limit_ns);

#endif
