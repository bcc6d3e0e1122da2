/* fleet_names.h: the hosts that a user names: words, Slurm's lists such as node[001-400,512],gpu7, files of them
 * (@FILE), and the hosts of a Slurm job. */
#ifndef PMTOP_COMMANDS_FLEET_FLEET_NAMES_H
#define PMTOP_COMMANDS_FLEET_FLEET_NAMES_H

#include <stddef.h>

#include "src/base/status.h"

struct fleet_names {
	char **names;
	size_t count, capacity;
};

/* Adds the hosts of a word: a list, or @FILE, which has words, and comments from # to the end of a line. */
enum status fleet_names_add(struct fleet_names *names, const char *word, struct reason *why_not);
/* Adds those of a Slurm job, as squeue names them. */
enum status fleet_names_add_job(struct fleet_names *names, const char *job, struct reason *why_not);
void fleet_names_release(struct fleet_names *names);

#endif
