/* term_console.h: characters of the Linux console, whose fonts have those of code page 437. */
#ifndef PMTOP_UI_TERMINAL_TERM_CONSOLE_H
#define PMTOP_UI_TERMINAL_TERM_CONSOLE_H

#include <stdint.h>

/* A character that console fonts have in place of one that they lack; both take one cell. */
uint32_t console_like(uint32_t code);

#endif
