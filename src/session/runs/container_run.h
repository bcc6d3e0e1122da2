/* container_run.h: the process to watch of a container or a pod. */
#ifndef PMTOP_SESSION_RUNS_CONTAINER_RUN_H
#define PMTOP_SESSION_RUNS_CONTAINER_RUN_H

#include <sys/types.h>

#include "src/base/status.h"

/* `text`: container_is_name(). Of its processes the first that the list of runs shows, else the oldest. Prints a note
 * on standard error if the pod is not certain. */
enum status container_run_find(const char *text, pid_t *pid, struct reason *why_not);

#endif
