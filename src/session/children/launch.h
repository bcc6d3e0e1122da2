/* launch.h: starts the command after --. Main thread only. */
#ifndef PMTOP_SESSION_CHILDREN_LAUNCH_H
#define PMTOP_SESSION_CHILDREN_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/session/children/launch_python.h"

struct launch {
	pid_t child;   /* 0 = none */
	char log[512]; /* the file with its output; empty: it shares pmtop's output */
	struct launch_python python;
};

/* Starts the command. `is_output_ours`: its output goes to a private file, because pmtop needs standard output.
 * `instruments`: puts src/python/launch into its environment. */
enum status launch_start(
	struct launch *launch, char **command, bool is_output_ours, bool instruments, struct reason *why_not);
/* Waits for the command to end and returns its status of waitpid; 0: there is none. The caller ends `python`. */
int launch_wait(const struct launch *launch);

#endif
