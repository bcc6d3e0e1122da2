/* completion.h: what a shell offers for a command line of pmtop, from the tables of commands, options, views, formats
 * and runs. The scripts in config/completion ask for it with `pmtop --help=complete WORD ...`. */
#ifndef PMTOP_COMMANDS_COMPLETION_COMPLETION_H
#define PMTOP_COMMANDS_COMPLETION_COMPLETION_H

#include <stdio.h>

/* `words`: what follows "pmtop" on the line; the last is being typed, and may be empty. Prints each candidate that
 * begins with it in a line of its own: the whole word, then a tab and its help where it has one. A line ":files" asks
 * the shell for names of files too, after "=" in an option; ":command" for what it offers for the command line that
 * follows "--". */
void completion_print(int count, char *const *words, FILE *out);

#endif
