#include <stdio.h>

#include "src/commands/command.h"

static enum exit_code run_collect(const struct options *options, const struct settings *settings)
{
	(void)options;
	(void)settings;
	fputs("pmtop: collect is not there yet\n", stderr);
	return EXIT_RUNTIME;
}

const struct command collect_command = { "collect", run_collect };
