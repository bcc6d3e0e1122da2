/* term_svg.h: the screen as a picture (SVG). */
#ifndef PMTOP_UI_TERMINAL_TERM_SVG_H
#define PMTOP_UI_TERMINAL_TERM_SVG_H

struct buffer;
struct canvas;

/* Colours of the 256-colour theme on a dark background. Braille and blocks are drawn as shapes, so they need no
 * font. */
void canvas_as_svg(const struct canvas *canvas, struct buffer *out);

#endif
