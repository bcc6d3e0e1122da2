/* options.h: parses the command line into a struct options and the settings. */
#ifndef PMTOP_COMMANDS_OPTIONS_OPTIONS_H
#define PMTOP_COMMANDS_OPTIONS_OPTIONS_H

#include "src/commands/commands.h"

/* Returns EXIT_OK if options->command is to be run, or if it is NULL and nothing is left to do (--help, --version).
 * Otherwise the error was printed on standard error. */
enum exit_code options_parse(int argc, char **argv, struct options *options, struct settings *settings);
/* Takes a target given without an option: a number is a pid, a file's name is a recording, anything else is a run's
 * name. Returns false if there already is a target. */
bool options_target(const char *text, struct options *options);

#endif
