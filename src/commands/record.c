#include <stdio.h>

#include "src/commands/command.h"

static enum exit_code run_record(const struct options *options, const struct settings *settings)
{
	(void)options;
	(void)settings;
	fputs("pmtop: record is not there yet\n", stderr);
	return EXIT_RUNTIME;
}

const struct command record_command = { "record", run_record };
