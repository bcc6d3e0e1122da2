/* fleet_jobs.h: the hosts of a Slurm job. */
#ifndef PMTOP_COMMANDS_FLEET_FLEET_JOBS_H
#define PMTOP_COMMANDS_FLEET_FLEET_JOBS_H

#include <stddef.h>

#include "src/base/status.h"

struct fleet_jobs {
	char *text; /* that `names` point into */
	char **names;
	size_t count;
};

/* Asks squeue and scontrol. */
enum status fleet_jobs_hosts(struct fleet_jobs *jobs, const char *job, struct reason *why_not);
void fleet_jobs_release(struct fleet_jobs *jobs);

#endif
