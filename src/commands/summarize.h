/* summarize.h: the summary of one target of the command line: a process, a run, a recording, a saved summary or
 * report. Main thread only. */
#ifndef PMTOP_COMMANDS_SUMMARIZE_H
#define PMTOP_COMMANDS_SUMMARIZE_H

#include <stdbool.h>

#include "src/compare/summary/summary.h"
#include "src/session/command.h"

struct summarize_how {
	const char *label; /* its name on the command line */
	bool until_end;    /* watch it until it ends; else take the data that is there now */
	double max_s;      /* stop after this time (of a recording: in its own time); 0 = no limit */
};

/* Summarizes the target in `options`. On EXIT_OK the caller releases *out. Otherwise the error was printed on standard
 * error; if a command (--) failed, its exit status is returned. */
enum exit_code summarize(const struct summarize_how *how, const struct options *options,
	const struct settings *settings, struct summary *out);

#endif
