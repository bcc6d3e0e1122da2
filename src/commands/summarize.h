/* summarize.h: a summary of what a word of the command line names: a process, a run, a recording, a saved summary or
 * report. Main thread only. */
#ifndef PMTOP_COMMANDS_SUMMARIZE_H
#define PMTOP_COMMANDS_SUMMARIZE_H

#include <stdbool.h>

#include "src/compare/summary.h"
#include "src/session/command.h"

struct summarize_how {
	const char *label; /* how it was named */
	bool until_end;    /* watch it until it ends; else: what is there now */
	double most_s;     /* at most so long; of a recording, of its time; 0 = no limit */
};

/* The target that `options` name. EXIT_OK: release *out. Else the line was said on standard error; a command (--) that
 * failed gives its own status. */
enum exit_code summarize(const struct summarize_how *how, const struct options *options,
	const struct settings *settings, struct summary *out);

#endif
