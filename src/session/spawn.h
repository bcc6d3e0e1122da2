/* spawn.h: a program started with nothing of ours: no descriptors, no signal set aside, input and output /dev/null, a
 * process group of its own. */
#ifndef PMTOP_SESSION_SPAWN_H
#define PMTOP_SESSION_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct spawn {
	size_t word_count, set_count;
	char *words[17], *sets[9]; /* the last of each stays NULL */
	bool failed;               /* out of memory */
};

void spawn_add(struct spawn *spawn, const char *word); /* the program, then its arguments */
/* in its environment, which is else ours */
void spawn_set(struct spawn *spawn, const char *name, const char *value);
/* 0, or an errno: then nothing was started. The program is looked for in PATH. */
int spawn_start(const struct spawn *spawn, pid_t *pid);
void spawn_release(struct spawn *spawn);

#endif
