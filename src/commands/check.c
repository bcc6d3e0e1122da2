#include <stdio.h>

#include "src/commands/command.h"

static enum exit_code run_check(const struct options *options, const struct settings *settings)
{
	(void)options;
	(void)settings;
	fputs("pmtop: check is not there yet\n", stderr);
	return EXIT_RUNTIME;
}

const struct command check_command = { "check", run_check };
