#include <stdio.h>

#include "src/commands/command.h"

static enum exit_code run_export(const struct options *options, const struct settings *settings)
{
	(void)options;
	(void)settings;
	fputs("pmtop: export is not there yet\n", stderr);
	return EXIT_RUNTIME;
}

const struct command export_command = { "export", run_export };
