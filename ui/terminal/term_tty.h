/* term_tty.h: the terminal as a device: open, modes, size, hang-up. Knows no ncurses. */
#ifndef PMTOP_UI_TERMINAL_TERM_TTY_H
#define PMTOP_UI_TERMINAL_TERM_TTY_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct tty {
	int fd; /* own open file description: O_NONBLOCK must not affect the shell's */
	struct termios saved;
};
/* Opens the terminal of standard output; false if it is not a terminal. Keys come from it too, whatever standard
 * input is. */
bool tty_open(struct tty *tty);
void tty_close(struct tty *tty);
/* Keys arrive unbuffered and without echo; ^C and ^Z still are signals. */
void tty_set_raw(const struct tty *tty);
void tty_set_saved(const struct tty *tty);
/* At least 1 × 1; 80 × 24 if the device reports no size. */
void tty_size(const struct tty *tty, int *width, int *height);
/* Sends a text; waits at most a third of a second for a terminal that does not read. */
void tty_send(const struct tty *tty, const char *text);
bool tty_is_gone(const struct tty *tty);
/* How many bytes of input are unread. */
size_t tty_typed(const struct tty *tty);
/* Reads and drops input up to and including `text` (whose first byte must not recur in it); true once it was found.
 * *matched: how many bytes of it were seen, 0 at first. Reads at most a quarter of a megabyte a call. */
bool tty_skip_to(const struct tty *tty, const char *text, size_t *matched);

#endif
