/* output.h: writes text to standard output completely. A reader that closes the pipe (| head -1) is no error: the
 * command ends. */
#ifndef PMTOP_SESSION_OUTPUT_H
#define PMTOP_SESSION_OUTPUT_H

#include <stdbool.h>

#include "src/base/buffer.h"
#include "src/settings/settings.h"

/* Whether the locale's characters are UTF-8. */
bool output_is_utf8(void);
/* Whether standard output is a terminal that can show a screen. */
bool output_has_screen(void);
/* Whether text output has colors: as set, else on a terminal (except TERM=dumb) without NO_COLOR. */
bool output_has_color(const struct settings *settings);
/* Columns of the terminal; 80 if standard output is no terminal, or a narrower one. */
int output_width(void);
/* If the locale is not UTF-8, replaces characters beyond ASCII by similar ones, as on the screen. Not for JSON and CSV,
 * which are always UTF-8. */
void output_fit_locale(struct buffer *buffer);
/* Writes and empties the buffer. Returns false if the reader is gone, or if a write failed (printed on standard error;
 * *code is then 1). */
bool output_flush(struct buffer *buffer, int *code);
/* The same, but while the reader does not read, calls `goes_on` about ten times a second. If that returns false, the
 * rest is not written and *code is unchanged. */
bool output_flush_while(struct buffer *buffer, int *code, bool (*goes_on)(void *context), void *context);

#endif
