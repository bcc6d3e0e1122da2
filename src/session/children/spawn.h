/* spawn.h: starts a program in its own process group, with default signals, no inherited descriptors, and /dev/null as
 * input and output. */
#ifndef PMTOP_SESSION_CHILDREN_SPAWN_H
#define PMTOP_SESSION_CHILDREN_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct spawn {
	size_t word_count, set_count;
	char *words[17], *sets[9]; /* the last of each stays NULL */
	bool failed;               /* out of memory */
};

void spawn_add(struct spawn *spawn, const char *word); /* the program, then its arguments */
/* adds to its environment, which otherwise is pmtop's */
void spawn_set(struct spawn *spawn, const char *name, const char *value);
/* Searches the program in PATH. Returns 0, or an errno if it was not started. */
int spawn_start(const struct spawn *spawn, pid_t *pid);
void spawn_release(struct spawn *spawn);

#endif
