/* fleet_process.h: a process with three pipes that reaches a host, or a relay; and the ones that were killed. No call
 * waits. */
#ifndef PMTOP_FLEET_REACH_FLEET_PROCESS_H
#define PMTOP_FLEET_REACH_FLEET_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/fleet/reach/fleet_said.h"

/* A line may have a tag before it (fleet_frame.h). */
enum { FLEET_PROCESS_LINE_SIZE = FLEET_LINE_SIZE + 16 };

struct fleet_process {
	pid_t pid;  /* 0 = none */
	int fds[3]; /* its input, output and errors, non-blocking; −1 = closed */
	size_t line_length;
	char line[FLEET_PROCESS_LINE_SIZE]; /* of standard error, in progress */
};

#define FLEET_PROCESS_INIT \
	{ \
		.fds = { -1, -1, -1 } \
	}

typedef void fleet_line_taker(void *context, const char *line);

/* So that so many processes can run at once, if the hard limit of descriptors allows it. */
void fleet_process_raise_limit(size_t processes);
/* Starts a command line of sh. Returns 0, or an errno: then there is no process. */
int fleet_process_start(struct fleet_process *process, const char *command);
/* Gives `take` the lines of standard error that have come. False: there may be more. */
bool fleet_process_read_errors(struct fleet_process *process, fleet_line_taker *take, void *context);
/* What does not fit into the pipe is lost. Returns 0 or an errno. */
int fleet_process_write(struct fleet_process *process, const char *bytes, size_t length);
void fleet_process_close_output(struct fleet_process *process);
/* Whether it has exited; it is not reaped. */
bool fleet_process_has_ended(const struct fleet_process *process);
/* If it has exited: reaps it, and kills what it has left in its group. False: it runs, or there is none. */
bool fleet_process_reap(struct fleet_process *process, int *status);
/* Closes its pipes. Returns its pid, which the caller then owns; 0 = none. */
pid_t fleet_process_detach(struct fleet_process *process);

/* -- processes that were killed, and are reaped when they are gone -- */

struct fleet_dying {
	size_t count, capacity;
	pid_t *pids;
};

/* pid 0 is none. */
void fleet_dying_add(struct fleet_dying *dying, pid_t pid);
void fleet_dying_reap(struct fleet_dying *dying);
void fleet_dying_release(struct fleet_dying *dying);

#endif
