/* signals.h: the signals of a program that owns the terminal, as a file descriptor to poll. */
#ifndef PMTOP_SESSION_SIGNALS_H
#define PMTOP_SESSION_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

struct terminal;

/* From now on SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP and SIGCONT only come through the descriptor; −1 when
 * there is none to be had. */
int signals_open(void);
/* Only SIGINT, SIGTERM and SIGHUP, as far as they are not ignored (nohup): for a program without a screen. */
int signals_open_ending(void);
/* True: one of them has come. A command of ours (0 = none) is passed what was meant for us alone: the terminal's ^C it
 * has had itself. */
bool signals_have_ended(int signal_fd, pid_t child);
/* Gives them back to their defaults. */
void signals_close(int signal_fd);
/* Answers what has come: a new size, a stop (gives the terminal back, stops, takes it again). True: end the program. */
bool signals_answer(int signal_fd, struct terminal *terminal);

#endif
