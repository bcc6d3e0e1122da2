/* term_text.h: a canvas as plain text (--once, tests, screen readers) and as SVG (the README's pictures, --once
 * --format=svg). */
#ifndef PMTOP_UI_TERMINAL_TERM_TEXT_H
#define PMTOP_UI_TERMINAL_TERM_TEXT_H

#include "src/base/buffer.h"
#include "ui/core/canvas.h"

/* Omits trailing blanks; each row ends with a newline. */
void canvas_as_text(const struct canvas *canvas, struct buffer *out);

#endif
