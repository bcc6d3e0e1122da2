/* start.h: starts a program that inherits nothing: no descriptors, no blocked or ignored signals, input and output
 * /dev/null, no terminal: it leads a session and a process group, so that it cannot ask anything on pmtop's screen. */
#ifndef PMTOP_BASE_FILES_START_H
#define PMTOP_BASE_FILES_START_H

#include <sys/types.h>

/* Returns 0, or an errno if nothing was started. words[0] is the program, searched in PATH. `output` becomes its
 * standard output; −1 = /dev/null. */
int start_program(char *const *words, char *const *environment, int output, pid_t *pid);
/* The same with input and standard error; each −1 = /dev/null. */
int start_program_with(char *const *words, char *const *environment, const int descriptors[3], pid_t *pid);

#endif
