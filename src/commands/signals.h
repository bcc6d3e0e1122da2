/* signals.h: the signals of a program that owns the terminal, as a file descriptor to poll. */
#ifndef PMTOP_COMMANDS_SIGNALS_H
#define PMTOP_COMMANDS_SIGNALS_H

#include <stdbool.h>

struct terminal;

/* From now on SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP and SIGCONT only come through the descriptor; −1 when there is none to be had. */
int signals_open(void);
/* Gives them back to their defaults. */
void signals_close(int signal_fd);
/* Answers what has come: a new size, a stop (gives the terminal back, stops, takes it again). True: end the program. */
bool signals_answer(int signal_fd, struct terminal *terminal);

#endif
