/* limited.h: work in a process of its own, for what it reads, loads or calls can hang in a way that not even SIGKILL
 * ends. */
#ifndef PMTOP_SESSION_LIMITED_H
#define PMTOP_SESSION_LIMITED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* As fork. The child does what can hang, closes *fd, and may go on as long as it likes; by then it must call _exit. */
pid_t limited_fork(int *fd);
/* Parent: waits until the child has closed its *fd, and closes this one. False: it has not within `limit_ns`; it was
 * killed, and is left behind. */
bool limited_wait(pid_t child, int fd, int64_t limit_ns);

#endif
