/* signals.h: the signals of a program that uses the terminal, as a file descriptor to poll (signalfd(2)). */
#ifndef PMTOP_SESSION_SIGNALS_H
#define PMTOP_SESSION_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

struct terminal;

/* Blocks SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP and SIGCONT, which then arrive through the descriptor.
 * Returns −1 on failure. */
int signals_open(void);
/* Does so only with SIGINT, SIGTERM and SIGHUP, unless they are ignored (nohup): for commands without a screen. */
int signals_open_ending(void);
/* Returns true if one of them has come. Passes a signal sent by kill(2) on to `child` (0 = none); the terminal's ^C
 * reaches the child by itself. */
bool signals_have_ended(int signal_fd, pid_t child);
/* Closes the descriptor and unblocks the signals. */
void signals_close(int signal_fd);
/* Handles the signals of a screen: a new size; a stop, around which it gives the terminal back. Returns true if the
 * program must end. */
bool signals_answer(int signal_fd, struct terminal *terminal);

#endif
