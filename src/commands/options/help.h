/* help.h: --help, generated from the tables of commands (commands.h) and options (options_rows.h). */
#ifndef PMTOP_COMMANDS_OPTIONS_HELP_H
#define PMTOP_COMMANDS_OPTIONS_HELP_H

#include "src/commands/commands.h"

/* At most 80 columns and 40 lines. */
void help_print(void);
/* What the command does, its options and an example. */
void help_print_command(enum command_id id);
/* Prints one line for each command, with all its options. The manual's synopsis and the shell completions are generated
 * from it. */
void help_print_synopses(void);

#endif
