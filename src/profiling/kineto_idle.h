/* kineto_idle.h: a socket for the polls of a job's PyTorch while nobody asks for a trace. It drops every datagram, and
 * the sender sees no error. The job inherits it, so it works until the job ends, whatever happens to pmtop: PyTorch
 * prints an ERROR line at each poll that it cannot send.
 *
 * FOLDER/idle is the socket; FOLDER/dynolog, where PyTorch sends to, is the same file, except while kineto_open() has
 * put its own in its place. */
#ifndef PMTOP_PROFILING_KINETO_IDLE_H
#define PMTOP_PROFILING_KINETO_IDLE_H

#include <stdbool.h>

#include "src/base/status.h"

enum { KINETO_IDLE_FOLDER_SIZE = 48 };

struct kineto_idle {
	int fd;
	char folder[KINETO_IDLE_FOLDER_SIZE]; /* private, in /tmp; empty: none */
};

enum status kineto_idle_open(struct kineto_idle *idle, struct reason *why_not);
/* In the child that becomes the job: sets KINETO_USE_DAEMON and KINETO_IPC_SOCKET_DIR, and a level of Kineto's log at
 * which it says no more than without them. What the environment sets already stays. */
void kineto_idle_set(const struct kineto_idle *idle);
/* Removes the folder: once the job has ended. */
void kineto_idle_close(struct kineto_idle *idle);

#endif
