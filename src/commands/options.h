/* options.h: the command line made into a struct options and the settings. */
#ifndef PMTOP_COMMANDS_OPTIONS_H
#define PMTOP_COMMANDS_OPTIONS_H

#include "src/commands/command.h"

/* EXIT_OK: go on with options->command; a command of NULL: all is said (--help, --version). Otherwise the line was said on standard error. */
enum exit_code options_parse(int argc, char **argv, struct options *options, struct settings *settings);

#endif
