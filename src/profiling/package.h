/* package.h: asks the Python package in a program for a trace or a memory snapshot:
 * pmtop.torch.instrument(profile_on_request=True).
 *
 * The program listens at /run/user/UID/pmtop/profile.PID, else at /tmp/pmtop-UID/profile.PID, as it sees these paths:
 * a folder of its user (0700) and a socket (0600). pmtop sends one line and reads lines:
 *
 *   profile 1 STEPS FOLDER                    from the next step
 *   profile 2 STEPS batch NUMBER EVERY FOLDER from batch NUMBER; if it is over, from the one EVERY later (0: the next)
 *   profile 2 STEPS time MS 0 FOLDER          from the first step after that time (ms since 1970)
 *                            step DONE STEPS      once for each step, and at first with DONE 0
 *                            trace PATH           the last line
 *                            error TEXT           the last line
 *   snapshot 1 FOLDER
 *                            snapshot PATH        or error TEXT
 *   snapshot 2 FOLDER                         by itself: if pmtop.torch.memory_history() records
 *                            snapshot PATH        or error TEXT, or unrecorded
 *
 * Both sides check the other's user (SO_PEERCRED). If pmtop closes the connection, the program gives the trace up. */
#ifndef PMTOP_PROFILING_PACKAGE_H
#define PMTOP_PROFILING_PACKAGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/profiling/order.h"
#include "src/profiling/trace_file.h"

struct package {
	int fd;               /* −1: not connected */
	unsigned done, steps; /* steps 0: a memory snapshot */
	bool has_begun;       /* the program has taken the request */
	char folder[TRACE_FOLDER_SIZE];
	char path[TRACE_PATH_SIZE]; /* once done */
	char line[TRACE_PATH_SIZE]; /* the part of a line that has come */
	size_t length;
};

/* Connects to the process with the folder /proc/PID `directory_fd` and the number `pid` (as pmtop sees it) of the user
 * `uid`, and asks. NOT_FOUND: it does not listen. The order's folder is as the process sees it. */
enum status package_open(struct package *package, int directory_fd, pid_t pid, uid_t uid,
	const struct profiling_order *order, struct reason *why_not);
/* Whether the process listens: its socket is there. Asks nothing. */
bool package_is_there(int directory_fd, pid_t pid, uid_t uid);
/* Reads what has come. OK: package->path is the file, as the process sees it; AGAIN: not yet; NOT_FOUND: unrecorded;
 * else the reason. */
enum status package_read(struct package *package, struct reason *why_not);
void package_close(struct package *package);

#endif
