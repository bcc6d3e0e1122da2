/* start.h: a program started with nothing of ours: no descriptors, no signal set aside, input and output /dev/null, a
 * process group of its own. */
#ifndef PMTOP_BASE_FILES_START_H
#define PMTOP_BASE_FILES_START_H

#include <sys/types.h>

/* 0, or an errno: then nothing was started. The program, words[0], is looked for in PATH. `output`: its standard
 * output; −1 = /dev/null. */
int start_program(char *const *words, char *const *environment, int output, pid_t *pid);

#endif
