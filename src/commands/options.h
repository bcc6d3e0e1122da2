/* options.h: the command line made into a struct options and the settings. */
#ifndef PMTOP_COMMANDS_OPTIONS_H
#define PMTOP_COMMANDS_OPTIONS_H

#include "src/commands/commands.h"

/* EXIT_OK: go on with options->command; a command of NULL: all is said (--help, --version). Otherwise the line was said
 * on standard error. */
enum exit_code options_parse(int argc, char **argv, struct options *options, struct settings *settings);
/* A target given as a word: a number is a pid, what looks like a file is a recording, the rest a run's name. False:
 * there is one already. */
bool options_target(const char *text, struct options *options);

#endif
