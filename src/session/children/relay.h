/* relay.h: a process that copies what a command writes to a pseudo-terminal into a file, so that the command has a
 * terminal for its colours and progress bars. It is not pmtop: when pmtop is killed, it goes on until the command and
 * its children have closed the terminal. Main thread only.
 *
 * The terminal is not the command's controlling terminal: Ctrl-C reaches the command as it does without pmtop. */
#ifndef PMTOP_SESSION_CHILDREN_RELAY_H
#define PMTOP_SESSION_CHILDREN_RELAY_H

#include <stdbool.h>
#include <sys/types.h>

struct relay {
	pid_t pid;   /* 0 = none */
	int control; /* sizes go to it; closed at its other end when the relay has ended */
	int width, height;
};

/* Starts a relay to the file `log` and returns the terminal for the command's output, which the caller closes after
 * fork(); -1: none. */
int relay_start(struct relay *relay, int log);
/* Sets the terminal's size. */
void relay_resize(struct relay *relay, int width, int height);
/* Waits until the relay has written everything; a while, for a child of the command may keep the terminal open. */
void relay_end(struct relay *relay);

#endif
