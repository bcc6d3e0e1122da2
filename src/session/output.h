/* output.h: text on standard output, whole. A reader that went away (| head -1) is no error: it ends the command
 * quietly. */
#ifndef PMTOP_SESSION_OUTPUT_H
#define PMTOP_SESSION_OUTPUT_H

#include <stdbool.h>

#include "src/base/buffer.h"
#include "src/settings/settings.h"

/* Whether the locale's characters are UTF-8. */
bool output_is_utf8(void);
/* Whether text for a person is coloured: as asked for, else on a terminal that can, unless NO_COLOR says otherwise. */
bool output_has_color(const struct settings *settings);
/* Columns of the terminal that is standard output, 80 where it is none or narrower. */
int output_width(void);
/* Makes text for a person fit the locale: where that is not UTF-8, what lies beyond ASCII is replaced by its like, as
 * on the screen. Not for JSON and CSV, which are UTF-8 everywhere. */
void output_fit_locale(struct buffer *buffer);
/* Writes and empties the buffer. False: nobody reads any more, or it could not be written (said on standard error;
 * *code is then 1). */
bool output_flush(struct buffer *buffer, int *code);
/* The same, and while nobody reads, `goes_on` is called about ten times a second; false from it: what is left is not
 * written, and *code stays. */
bool output_flush_while(struct buffer *buffer, int *code, bool (*goes_on)(void *context), void *context);

#endif
