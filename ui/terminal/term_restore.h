/* term_restore.h: gives the terminal back when the program crashes.
 *
 * While armed, SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT write the restoring text and set the saved modes, with
 * nothing but calls that are safe in a signal handler and on a stack of their own, and then die of the same signal as
 * they would have. Only in the process that armed. */
#ifndef PMTOP_UI_TERMINAL_TERM_RESTORE_H
#define PMTOP_UI_TERMINAL_TERM_RESTORE_H

#include <stddef.h>
#include <termios.h>

enum { RESTORE_SIZE = 512 };

/* `fd` stays the caller's; `text` is copied, at most RESTORE_SIZE bytes. One terminal at a time. */
void restore_arm(int fd, const struct termios *modes, const char *text, size_t length);
void restore_disarm(void);

#endif
