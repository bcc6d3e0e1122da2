#include <stdio.h>

#include "src/commands/command.h"

static enum exit_code run_repair(const struct options *options, const struct settings *settings)
{
	(void)options;
	(void)settings;
	fputs("pmtop: repair is not there yet\n", stderr);
	return EXIT_RUNTIME;
}

const struct command repair_command = { "repair", run_repair };
