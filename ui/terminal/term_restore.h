/* term_restore.h: restores the terminal when the program crashes.
 *
 * While armed, handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT write the restoring text and set the saved
 * modes, using only async-signal-safe calls and their own stack, then die of the same signal. Only in the process
 * that armed. */
#ifndef PMTOP_UI_TERMINAL_TERM_RESTORE_H
#define PMTOP_UI_TERMINAL_TERM_RESTORE_H

#include <stddef.h>
#include <termios.h>

enum { RESTORE_SIZE = 512 };

/* `fd` stays the caller's; `text` is copied, at most RESTORE_SIZE bytes. One terminal at a time. */
void restore_arm(int fd, const struct termios *modes, const char *text, size_t length);
void restore_disarm(void);

#endif
