#include <stdio.h>

#include "src/commands/command.h"

static enum exit_code run_diff(const struct options *options, const struct settings *settings)
{
	(void)options;
	(void)settings;
	fputs("pmtop: diff is not there yet\n", stderr);
	return EXIT_RUNTIME;
}

const struct command diff_command = { "diff", run_diff };
