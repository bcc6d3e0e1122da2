/* term_tty.h: the terminal as a device: opened, its modes, its size; whether it is still there. Knows no ncurses. */
#ifndef PMTOP_UI_TERMINAL_TERM_TTY_H
#define PMTOP_UI_TERMINAL_TERM_TTY_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct tty {
	int fd; /* opened anew, so that O_NONBLOCK is ours alone and not the shell's too */
	struct termios saved;
};
/* The terminal that standard output goes to; false where it goes elsewhere. Keys come from it too, whatever standard
 * input is. */
bool tty_open(struct tty *tty);
void tty_close(struct tty *tty);
/* Every key at once, nothing echoed, nothing rewritten; ^C and ^Z still are signals. */
void tty_set_raw(const struct tty *tty);
void tty_set_saved(const struct tty *tty);
/* At least 1 × 1; 80 × 24 where the device does not say. */
void tty_size(const struct tty *tty, int *width, int *height);
/* Sends a text that must arrive, but waits for a terminal that is not read no longer than a third of a second. */
void tty_send(const struct tty *tty, const char *text);
bool tty_is_gone(const struct tty *tty);
/* How many bytes were typed and not read yet. */
size_t tty_typed(const struct tty *tty);
/* Reads and drops what was typed, up to and with `text` (whose first byte does not come again in it) and nothing
 * beyond; true once that was found. *matched is how much of it was seen, 0 at first. Reads a quarter of a megabyte a
 * call at most. */
bool tty_skip_to(const struct tty *tty, const char *text, size_t *matched);

#endif
