/* choose.h: `pmtop` without arguments: a list of runs to choose from. */
#ifndef PMTOP_SESSION_RUNS_CHOOSE_H
#define PMTOP_SESSION_RUNS_CHOOSE_H

#include "src/session/command.h"

struct chosen {
	pid_t pid;          /* a live one; 0 = none */
	char run_name[160]; /* NAME.PID of one that has ended; empty = none */
};

/* Shows the list on the terminal until a row is chosen or the person quits (*chosen stays empty). */
enum exit_code choose_run(const struct options *options_given, const struct settings *settings, struct chosen *chosen);

#endif
